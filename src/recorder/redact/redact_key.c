/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides by its name whether a value is a secret. A name is split into words (DB_PASSWORD, dbPassword, --db-password,
 * db.password), and the last words decide: "token" means a secret, "token-file" and "max-tokens" do not.
 */
#include <string.h>

#include "recorder/redact/redact_parts.h"

enum { WORDS_MAX = 12, WORD_SIZE = 32 };

struct words {
    size_t n;
    char at[WORDS_MAX][WORD_SIZE];
};

static bool among(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (**list == *word && strcmp(word, *list) == 0)
            return true;
    return false;
}

static bool ends_among(const char *word, const char *const *list)
{
    size_t len = strlen(word);
    for (; *list; list++) {
        size_t end = strlen(*list);
        if (len >= end && strcmp(word + len - end, *list) == 0)
            return true;
    }
    return false;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A word begins after a byte that is neither letter nor digit, at the B of aB, and at the last A of AAAb. */
static bool begins_word(struct span key, size_t i)
{
    char c = key.at[i], last = i ? key.at[i - 1] : 0;
    if (!is_lower(last) && !is_upper(last) && !is_digit(last))
        return true;
    if (!is_upper(c))
        return false;
    return is_lower(last) || is_digit(last) || (is_upper(last) && i + 1 < key.len && is_lower(key.at[i + 1]));
}

/* Splits a name into words in lower case, without digits at the end (password2). If there are too many words, the last
 * ones are kept. */
static void words_split(struct span key, struct words *w)
{
    size_t len = 0;
    w->n = 0;
    for (size_t i = 0; i < key.len; i++) {
        char c = key.at[i];
        if (!is_lower(c) && !is_upper(c) && !is_digit(c))
            continue;
        if (!w->n || begins_word(key, i)) {
            if (w->n == WORDS_MAX)
                memmove(w->at[0], w->at[1], sizeof(w->at) - sizeof(w->at[0]));
            else
                w->n++;
            len = 0;
        }
        if (len < WORD_SIZE - 1)
            w->at[w->n - 1][len++] = is_upper(c) ? (char)(c | 0x20) : c;
        w->at[w->n - 1][len] = 0;
    }
    for (size_t i = 0; i < w->n; i++)
        for (size_t end = strlen(w->at[i]); end > 1 && is_digit(w->at[i][end - 1]); end--)
            w->at[i][end - 1] = 0;
    while (w->n > 1 && is_digit(w->at[w->n - 1][0]))
        w->n--;
}

static const char *const secret_words[] =
    WORDS("pass", "pw", "pwd", "secret", "secrets", "token", "psk", "passwords", "credential", "credentials",
          "passwort", "kennwort", "otp", "totp", "jwt", "bearer", "requirepass", "masterauth", "setcookie", "apikeys",
          "pat", "passin", "passout", "webhook", "psw");
/* Ends of names without a separator between their words: dbpassword, authtoken. */
static const char *const secret_ends[] =
    WORDS("password", "passwd", "passphrase", "passcode", "passwrd", "apikey", "authkey", "secretkey", "accesskey",
          "privatekey", "accountkey", "authtoken", "accesstoken", "apitoken", "bottoken", "clientsecret", "apisecret",
          "appsecret", "storepass", "keypass", "sshpass", "userpass", "dbpass", "smtppass", "rootpass", "adminpass",
          "authpass", "privpass", "proxypass", "mysqlpwd", "dbpwd", "userpw", "dbpw", "sessiontoken", "refreshtoken",
          "oauthtoken", "bearertoken", "sharedsecret", "mypass", "ownerpw", "opw", "upw", "rpcpass", "secrettoken",
          "encryptionkey", "signingkey", "masterkey");
/* First words of "WORD key" that mean a secret, not a file or a column. */
static const char *const secret_keys[] =
    WORDS("api", "access", "secret", "private", "account", "auth", "signing", "encryption", "master", "shared",
          "storage", "subscription", "admin", "deploy", "app", "application", "consumer", "write", "instrumentation",
          "service", "license", "session", "functions", "ingest", "integration", "crypt", "crypto", "cipher", "jwt",
          "hmac", "anon", "role", "join", "registration", "publish", "rest", "project", "wifi", "wep", "wpa",
          "preshared", "security", "user", "database");
/* Last words that mean something about a secret: password-file. */
static const char *const neighbours[] = WORDS(
    "file", "files", "path", "dir", "folder", "location", "url", "uri", "endpoint", "name", "names", "id", "ids",
    "type", "length", "len", "size", "count", "limit", "limits", "max", "min", "ttl", "expiry", "expires", "expiration",
    "lifetime", "timeout", "duration", "interval", "age", "policy", "provider", "manager", "source", "env", "var",
    "cmd", "command", "script", "algorithm", "alg", "method", "mode", "format", "stdin", "fd", "prompt", "field",
    "column", "header", "prefix", "suffix", "version", "rotation", "strength", "required", "enabled", "disabled",
    "verify", "check", "validation", "issuer", "audience", "server", "service", "host", "port", "scope", "scopes",
    "ring", "arn", "ref", "helper", "budget", "usage", "rate", "cache", "index", "class", "classes", "store", "backend",
    "engine", "eval", "through", "authentication", "auth", "jar", "label", "title", "filename", "filepath", "agent",
    "namespace", "region", "dim", "embedding", "embeddings", "merging", "counts", "window", "bucket", "review",
    "exchange", "rules", "rounds", "cost", "manage", "generator", "logfile", "symbol", "position", "sync", "recovery",
    "reset", "change", "page", "form", "input", "test", "tests", "migration", "entropy");
/* First words that mean a switch or a number: ask-password. */
static const char *const switches[] =
    WORDS("max", "min", "num", "no", "ask", "prompt", "with", "without", "use", "show", "skip", "disable", "enable",
          "allow", "require", "generate", "print", "total", "is", "has", "hide", "mask", "redact", "avg", "revoke",
          "rotate", "force", "list", "per", "n");
/* First words of "WORD token" that are those of language models, or their price. */
static const char *const plain_tokens[] = WORDS(
    "eos", "bos", "pad", "unk", "mask", "sep", "cls", "stop", "special", "image", "start", "end", "begin", "per", "new",
    "next", "first", "last", "audio", "video", "separator", "decoder", "encoder", "by", "delim", "csrf", "word", "sub");
/* Last words that change nothing: password-value. */
static const char *const fillers[] =
    WORDS("value", "text", "string", "data", "base", "b", "plain", "plaintext", "raw", "hex", "literal");
/* Words that end with "pass" but are no passwords. */
static const char *const other_passes[] =
    WORDS("bypass", "compass", "encompass", "trespass", "surpass", "overpass", "underpass", "firstpass", "secondpass",
          "multipass", "twopass", "singlepass", "renderpass", "lowpass", "highpass", "bandpass", "allpass", "onepass",
          "npass", "prepass", "testpass", "lastpass", "gopass", "postpass", "midpass");
/* First words of "WORD key" that are public keys, or that say where something is. */
static const char *const plain_keys[] =
    WORDS("public", "pub", "cache", "sort", "partition", "object", "primary", "foreign", "row", "hash", "ssh", "gpg",
          "pgp", "host", "trust", "signature", "verify", "group", "index", "bucket", "state", "lookup", "map", "sync");
static const char *const weak_words[] =
    WORDS("cookie", "cookies", "auth", "signature", "sig", "userpwd", "creds", "login", "tokens");

static enum telling words_tell(const struct words *w, size_t n)
{
    const char *last = w->at[n - 1], *prev = n > 1 ? w->at[n - 2] : "";
    if (strcmp(last, "token") == 0 && among(prev, plain_tokens))
        return TELLS_NOTHING;
    if (strcmp(prev, "existing") == 0)
        return TELLS_NOTHING;
    if (among(last, secret_words) || ends_among(last, secret_ends))
        return TELLS_SECRET;
    if (strcmp(last, "tokens") == 0 && n > 1 &&
        (strcmp(prev, "auth") == 0 || strcmp(prev, "api") == 0 || strcmp(prev, "access") == 0))
        return TELLS_SECRET;
    if (strcmp(last, "key") == 0 && among(prev, secret_keys))
        return TELLS_KEY;
    if (strcmp(last, "key") == 0 && n > 1 && !among(prev, plain_keys))
        return TELLS_RANDOM;
    if (strlen(last) > 5 && strcmp(last + strlen(last) - 4, "pass") == 0 && !among(last, other_passes))
        return TELLS_SECRET;
    if (strcmp(last, "pin") == 0 && (n == 1 || strcmp(prev, "user") == 0 || strcmp(prev, "so") == 0))
        return TELLS_WEAK;
    if (strcmp(last, "login") == 0 && strcmp(prev, "sonar") == 0)
        return TELLS_SECRET;
    if (strcmp(last, "id") == 0 && strcmp(prev, "secret") == 0)
        return TELLS_WEAK;
    if (strcmp(last, "basic") == 0 && strcmp(prev, "auth") == 0)
        return TELLS_WEAK;
    return among(last, weak_words) ? TELLS_WEAK : TELLS_NOTHING;
}

enum telling key_tells(struct span key)
{
    struct words w;
    words_split(key, &w);
    if (!w.n || among(w.at[0], switches))
        return TELLS_NOTHING;
    size_t n = w.n;
    while (n > 1 && among(w.at[n - 1], fillers))
        n--;
    enum telling tells = words_tell(&w, n);
    if (tells == TELLS_NOTHING && n < w.n)
        tells = words_tell(&w, w.n);
    /* Verbs with "pass": bypass and the like are not in the list; pass-through ends with a neighbour. */
    if (tells == TELLS_NOTHING || (n > 1 && among(w.at[n - 1], neighbours) && tells != TELLS_WEAK))
        return tells == TELLS_WEAK ? tells : TELLS_NOTHING;
    return tells;
}

bool key_is_header(struct span key)
{
    static const char *const whole[] = WORDS("authorization", "cookie", "extraheader", "apikey");
    struct words w;
    words_split(key, &w);
    if (!w.n || among(w.at[0], switches))
        return false;
    const char *last = w.at[w.n - 1];
    if (among(last, whole))
        return true;
    if (w.n == 1)
        return false;
    enum telling tells = key_tells(key);
    return tells == TELLS_SECRET || tells == TELLS_KEY ||
           (w.at[0][0] == 'x' && (strcmp(last, "key") == 0 || strcmp(last, "signature") == 0));
}

static bool equals_any(struct span s, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == s.len && strncasecmp(s.at, *list, s.len) == 0)
            return true;
    return false;
}

static bool is_mask(struct span s)
{
    char c = s.at[0];
    if (c != '*' && c != 'x' && c != 'X' && c != '.' && c != '#')
        return false;
    for (size_t i = 1; i < s.len; i++)
        if (s.at[i] != c)
            return false;
    return s.len >= 2;
}

/* "/run/secrets/db", "./key.pem", "~/.ssh/id". A base64 key may also begin with a slash, but looks random. */
static bool is_path(struct span s)
{
    bool rooted = s.at[0] == '/' || span_starts(s, "./") || span_starts(s, "../") || span_starts(s, "~/");
    size_t slashes = 0, upper = 0, strange = 0;
    const char *comma = memchr(s.at, ',', s.len); /* credentials=/etc/cifs,uid=0 */
    if (comma)
        s.len = (size_t)(comma - s.at);
    if (!s.len)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        slashes += s.at[i] == '/';
        upper += is_upper(s.at[i]);
        strange +=
            s.at[i] == '+' || s.at[i] == '=' || s.at[i] == '!' || s.at[i] == '$' || s.at[i] == '#' || s.at[i] == '&';
    }
    return rooted && slashes >= 1 && !strange && s.len > 2 && (upper * 4 <= s.len || slashes * 8 >= s.len) &&
           (slashes > 1 || memchr(s.at, '.', s.len));
}

static bool ends_like_file(struct span s)
{
    static const char *const ends[] =
        WORDS(".pem", ".key", ".crt", ".pub", ".json", ".txt", ".p12", ".pfx", ".jks", ".der", ".yml", ".yaml");
    for (const char *const *e = ends; *e; e++)
        if (s.len > strlen(*e) && memcmp(s.at + s.len - strlen(*e), *e, strlen(*e)) == 0)
            return true;
    return false;
}

static bool is_variable(struct span s)
{
    if (s.len > 1 && s.at[0] == '"' && s.at[1] == '$')
        return true;
    return s.len > 1 && s.at[0] == '$';
}

/* 32 or more hexadecimal digits, or something that looks random. */
static bool is_unmemorable(struct span s)
{
    size_t hex = 0;
    while (hex < s.len && (is_digit(s.at[hex]) || ((s.at[hex] | 0x20) >= 'a' && (s.at[hex] | 0x20) <= 'f')))
        hex++;
    return (hex == s.len && s.len >= 32) || looks_random(s);
}

/* "user:password", "a=b" of a cookie, or something random. */
static bool looks_weak_secret(struct span s)
{
    size_t digits = 0;
    for (size_t i = 0; i < s.len; i++)
        digits += is_digit(s.at[i]);
    return looks_random(s) || (s.len >= 16 && digits >= 3 && !memchr(s.at, '/', s.len) && !memchr(s.at, ' ', s.len)) ||
           (digits == s.len && s.len >= 4) ||
           (s.at[0] != '=' && memchr(s.at, '=', s.len) && !memchr(s.at, '/', s.len)) ||
           (s.at[0] != ':' && memchr(s.at, ':', s.len) && !memchr(s.at, '/', s.len));
}

bool value_is_harmless(enum telling tells, struct span value, bool script)
{
    static const char *const words[] =
        WORDS("true", "false", "yes", "no", "on", "off", "none", "null", "nil", "undefined", "required", "optional",
              "prompt", "ask", "always", "never", "auto", "enabled", "disabled", "default", "required:", "basic",
              "digest", "ntlm", "simple", "jwt", "str", "string", "-");
    if (!value.len || equals_any(value, words) || is_mask(value))
        return true;
    if (value.len == 1 && is_digit(value.at[0]))
        return true;
    if (value.at[0] == '<' && value.at[value.len - 1] == '>')
        return true;
    if (span_starts(value, "${") || span_starts(value, "$(") || span_starts(value, "{{") || span_starts(value, "`") ||
        (script && is_variable(value)))
        return true;
    if (span_starts(value, "file:") || span_starts(value, "env:") || span_starts(value, "stdin") || is_path(value))
        return true;
    if (value.at[0] == '@' && value.len > 2 &&
        (value.at[1] == '/' || value.at[1] == '.' || ends_like_file(value) || value.at[1] == '-'))
        return true;
    if (tells == TELLS_KEY && ends_like_file(value))
        return true;
    if (tells == TELLS_RANDOM)
        return !is_unmemorable(value);
    return tells == TELLS_WEAK && !looks_weak_secret(value);
}
