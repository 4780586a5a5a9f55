/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of redaction. A short flag is a secret only in the programs named here: -p is a port to ssh and a password to mysql. */
#include <stddef.h>

#include "procfs/redact.h"

#define WHOLE(program, flag, form) {program, flag, HOW_WHOLE, FORM_##form}

const struct rule redact_rules[] = {
    WHOLE("mysql*", "-p", GLUED), WHOLE("mariadb*", "-p", GLUED), WHOLE("mycli", "-p", BOTH), WHOLE("pgcli", "-p", GLUED),
    WHOLE("mydumper", "-p", NEXT), WHOLE("myloader", "-p", NEXT), WHOLE("xtrabackup", "-p", GLUED), WHOLE("innobackupex", "-p", GLUED),
    WHOLE("sshpass", "-p", BOTH),
    WHOLE("redis-*", "-a", NEXT), WHOLE("keydb-cli", "-a", NEXT), WHOLE("valkey-cli", "-a", NEXT), WHOLE("redis-*", "AUTH", NEXT),
    WHOLE("redis-*", "auth", NEXT), WHOLE("valkey-cli", "AUTH", NEXT),
    WHOLE("mongo*", "-p", BOTH), WHOLE("cqlsh", "-p", BOTH), WHOLE("nodetool", "-pw", NEXT), WHOLE("beeline", "-p", NEXT),
    WHOLE("sqlcmd", "-P", BOTH), WHOLE("bcp", "-P", BOTH), WHOLE("osql", "-P", BOTH), WHOLE("isql", "-P", BOTH), WHOLE("tsql", "-P", BOTH),
    WHOLE("fisql", "-P", BOTH), WHOLE("vsql", "-w", BOTH), WHOLE("nzsql", "-pw", NEXT), WHOLE("db2", "using", NEXT),
    WHOLE("influx", "-p", NEXT), WHOLE("hdbsql", "-p", BOTH), WHOLE("exaplus", "-p", NEXT), WHOLE("bteq", "-p", NEXT), WHOLE("arangosh", "-p", NEXT),
    WHOLE("neo4j-admin", "set-initial-password", NEXT), WHOLE("cypher-shell", "-p", BOTH), WHOLE("couchbase-cli", "-p", BOTH), WHOLE("cbq", "-p", BOTH),
    WHOLE("cbbackupmgr", "-p", BOTH), WHOLE("ldap*", "-w", COMBINED), WHOLE("ldappasswd", "-s", NEXT), WHOLE("ldappasswd", "-a", NEXT),
    WHOLE("slappasswd", "-s", NEXT), WHOLE("ipmitool", "-P", BOTH), WHOLE("ipmi*", "-p", NEXT), WHOLE("racadm", "-p", NEXT),
    WHOLE("snmp*", "-c", BOTH), WHOLE("snmp*", "-A", BOTH), WHOLE("snmp*", "-X", BOTH), WHOLE("esxcli", "-p", NEXT), WHOLE("redfishtool", "-p", NEXT),
    WHOLE("7z*", "-p", GLUED), WHOLE("rar", "-p", GLUED), WHOLE("rar", "-hp", GLUED), WHOLE("unrar", "-p", GLUED), WHOLE("zip", "-P", BOTH),
    WHOLE("zipcloak", "-P", NEXT), WHOLE("unzip", "-P", BOTH), WHOLE("bsdtar", "-P", NEXT), WHOLE("qpdf", "--encrypt", NEXT), WHOLE("fcrackzip", "-p", NEXT),
    WHOLE("openssl", "-k", NEXT), WHOLE("openssl", "-K", NEXT), WHOLE("openssl", "-pass", NEXT), WHOLE("ssh-keygen", "-N", NEXT),
    WHOLE("ssh-keygen", "-P", NEXT), WHOLE("ccrypt", "-K", NEXT), WHOLE("aescrypt", "-p", NEXT), WHOLE("steghide", "-p", NEXT), WHOLE("security", "-p", NEXT),
    WHOLE("security", "-w", NEXT), WHOLE("signtool", "/p", NEXT), WHOLE("altool", "-p", NEXT), WHOLE("hdiutil", "-passphrase", NEXT),
    WHOLE("login", "-p", BOTH), WHOLE("twine", "-p", NEXT), WHOLE("poetry", "-p", NEXT), 
    WHOLE("ibmcloud", "-p", NEXT), WHOLE("rancher", "-t", NEXT), WHOLE("doctl", "-t", NEXT), WHOLE("glab", "-t", NEXT), WHOLE("vercel", "-t", NEXT),
    WHOLE("codecov", "-t", NEXT), WHOLE("flyctl", "-t", NEXT), WHOLE("buildkite-agent", "-t", NEXT), WHOLE("snyk", "auth", NEXT),
    WHOLE("ngrok", "authtoken", NEXT), WHOLE("ngrok", "add-authtoken", NEXT), WHOLE("wandb", "login", NEXT), WHOLE("vault", "login", NEXT),
    WHOLE("bw", "unlock", NEXT), WHOLE("heroku", "auth:token", NEXT), WHOLE("gitlab-runner", "-r", NEXT), WHOLE("tower-cli", "-p", NEXT),
    WHOLE("nuget", "-ApiKey", NEXT), WHOLE("dotnet", "-k", NEXT), WHOLE("cargo", "login", NEXT), WHOLE("netlify", "--auth", NEXT),
    WHOLE("rdesktop", "-p", BOTH), WHOLE("vncdo*", "-p", BOTH), WHOLE("ncftp*", "-p", NEXT), WHOLE("plink", "-pw", NEXT), WHOLE("pscp", "-pw", NEXT),
    WHOLE("psftp", "-pw", NEXT), WHOLE("hydra", "-p", NEXT), WHOLE("medusa", "-p", NEXT), WHOLE("crackmapexec", "-p", NEXT), WHOLE("nxc", "-p", NEXT),
    WHOLE("netexec", "-p", NEXT), WHOLE("evil-winrm", "-p", NEXT), WHOLE("bloodhound*", "-p", NEXT), WHOLE("swaks", "-ap", NEXT), WHOLE("sendemail", "-xp", NEXT),
    WHOLE("sendEmail", "-xp", NEXT), WHOLE("mosquitto_*", "-P", NEXT), WHOLE("useradd", "-p", NEXT), WHOLE("usermod", "-p", NEXT), WHOLE("groupadd", "-p", NEXT),
    WHOLE("kadmin*", "-w", NEXT), WHOLE("kadmin*", "-pw", NEXT), WHOLE("doveadm", "-p", NEXT), WHOLE("caddy", "--plaintext", NEXT), WHOLE("mkpasswd", "", NEXT),
    WHOLE("iwconfig", "key", NEXT), WHOLE("iscsiadm", "-v", NEXT), WHOLE("rabbitmqadmin", "-p", BOTH), WHOLE("xauth", ".", NEXT),
    WHOLE("xauth", "MIT-MAGIC-COOKIE-1", NEXT), WHOLE("erl*", "-setcookie", NEXT), WHOLE("pdftk", "user_pw", NEXT), WHOLE("svnadmin", "-p", NEXT),
    WHOLE("jenkins-cli", "-p", NEXT), WHOLE("jfrog", "-p", NEXT), WHOLE("jf", "-p", NEXT), WHOLE("artifactory", "-p", NEXT), WHOLE("grafana-cli", "reset-admin-password", NEXT),
    WHOLE("asadmin", "-p", NEXT), WHOLE("kinit", "-w", NEXT), WHOLE("tabcmd", "-p", NEXT), WHOLE("psexec*", "-p", NEXT), WHOLE("winexe", "-p", NEXT),
    WHOLE("prlctl", "-p", NEXT), WHOLE("amqp-*", "-p", NEXT), WHOLE("sqoop", "-p", NEXT), WHOLE("impala-shell", "-p", NEXT), WHOLE("trafgen", "-p", NEXT),

    {"curl", "-u", HOW_COLON, FORM_COMBINED}, {"curl", "--user", HOW_COLON, FORM_BOTH}, {"curl", "-U", HOW_COLON, FORM_COMBINED},
    {"curl", "--proxy-user", HOW_COLON, FORM_BOTH}, {"curl", "-E", HOW_COLON, FORM_BOTH}, {"curl", "--cert", HOW_COLON, FORM_BOTH},
    WHOLE("curl", "--oauth2-bearer", NEXT), {"curl", "--proxy-cert", HOW_COLON, FORM_BOTH},
    {"http", "-a", HOW_COLON, FORM_BOTH}, {"https", "-a", HOW_COLON, FORM_BOTH}, {"xh*", "-a", HOW_COLON, FORM_BOTH}, {"http*", "--auth", HOW_COLON, FORM_BOTH},
    {"xh*", "--auth", HOW_COLON, FORM_BOTH}, {"ab", "-A", HOW_COLON, FORM_BOTH}, {"ab", "-P", HOW_COLON, FORM_BOTH}, {"hey", "-a", HOW_COLON, FORM_BOTH},
    {"etcdctl", "--user", HOW_COLON, FORM_BOTH}, {"curlie", "-u", HOW_COLON, FORM_COMBINED}, {"aws-curl", "-u", HOW_COLON, FORM_COMBINED},
    {"nuclei", "-u", HOW_COLON, FORM_NEXT}, {"gobuster", "-P", HOW_WHOLE, FORM_NEXT}, {"wfuzz", "--basic", HOW_COLON, FORM_NEXT},
    {"jenkins-cli", "-auth", HOW_COLON, FORM_NEXT}, {"java", "-auth", HOW_COLON, FORM_NEXT}, {"lftp", "-u", HOW_COMMA, FORM_BOTH},
    {"smb*", "-U", HOW_PERCENT, FORM_BOTH}, {"rpcclient", "-U", HOW_PERCENT, FORM_BOTH}, {"net", "-U", HOW_PERCENT, FORM_BOTH},
    {"winexe", "-U", HOW_PERCENT, FORM_BOTH}, {"smb*", "--user", HOW_PERCENT, FORM_BOTH}, {"wbinfo", "-a", HOW_PERCENT, FORM_NEXT},
    {"pth-*", "-U", HOW_PERCENT, FORM_BOTH}, {"wmic", "-U", HOW_PERCENT, FORM_BOTH},
    {"sqlplus*", "", HOW_SLASH, FORM_NEXT}, {"sqlldr", "", HOW_SLASH, FORM_NEXT}, {"impdp", "", HOW_SLASH, FORM_NEXT}, {"expdp", "", HOW_SLASH, FORM_NEXT},
    {"imp", "", HOW_SLASH, FORM_NEXT}, {"exp", "", HOW_SLASH, FORM_NEXT}, {"rman", "", HOW_SLASH, FORM_NEXT}, {"sql", "", HOW_SLASH, FORM_NEXT},
        {"htpasswd", "", HOW_POSITIONAL, FORM_NEXT}, {"wpa_passphrase", "", HOW_POSITIONAL, FORM_NEXT}, {"radtest", "", HOW_POSITIONAL, FORM_NEXT},
    {"steamcmd", "", HOW_POSITIONAL, FORM_NEXT}, {"two-words", "", HOW_POSITIONAL, FORM_NEXT},
    {"vault-kv", "", HOW_ASSIGNED, FORM_NEXT}, {"kubectl", "--from-literal", HOW_ASSIGNED, FORM_BOTH},
    {"oc", "--from-literal", HOW_ASSIGNED, FORM_BOTH}, WHOLE("aws-put", "--value", BOTH),
    {"aws", "", HOW_TELLING, FORM_NEXT}, {"npm", "", HOW_TELLING, FORM_NEXT}, {"yarn", "", HOW_TELLING, FORM_NEXT}, {"pnpm", "", HOW_TELLING, FORM_NEXT},
    {"gcloud", "", HOW_TELLING, FORM_NEXT}, {"composer", "", HOW_TELLING, FORM_NEXT}, {"poetry", "", HOW_TELLING, FORM_NEXT},
    {"rclone", "", HOW_TELLING, FORM_NEXT}, {"pulumi", "", HOW_TELLING, FORM_NEXT}, {"nmcli", "", HOW_TELLING, FORM_NEXT},
    {"wpa_cli", "", HOW_TELLING, FORM_NEXT}, {"dvc", "", HOW_TELLING, FORM_NEXT}, 
    {"conda", "", HOW_TELLING, FORM_NEXT}, 
    {"pdftk", "", HOW_TELLING, FORM_NEXT}, {"s3cmd", "", HOW_TELLING, FORM_NEXT}, 
    {"snowsql", "", HOW_TELLING, FORM_NEXT},
    {NULL, NULL, 0, 0},
};

const struct turn redact_turns[] = {
    {"docker", "login", "login"}, {"podman", "login", "login"}, {"nerdctl", "login", "login"}, {"buildah", "login", "login"}, {"skopeo", "login", "login"},
    {"helm", "login", "login"}, {"crane", "login", "login"}, {"oras", "login", "login"}, {"oc", "login", "login"}, {"az", "login", "login"},
    {"regctl", "login", "login"}, {"bw", "login", "two-words"}, {"cf", "auth", "two-words"}, {"rabbitmqctl", "add_user", "two-words"},
    {"rabbitmqctl", "change_password", "two-words"}, {"rabbitmqctl", "authenticate_user", "two-words"}, {"poetry", "config", "two-words"},
    {"mc", "alias", "two-words"}, {"mcli", "alias", "two-words"}, {"mc", "host", "two-words"}, {"smbpasswd", "-s", "two-words"},
    {"etcdctl", "passwd", "two-words"}, {"openssl", "passwd", "mkpasswd"},
    {"vault", "kv", "vault-kv"}, {"aws", "put-parameter", "aws-put"}, {"cf", "login", "login"}, {NULL, NULL, NULL},
};

const char *const redact_wrappers[] = {
    "sudo", "doas", "su", "env", "nice", "ionice", "chrt", "taskset", "timeout", "nohup", "setsid", "stdbuf", "strace", "ltrace", "perf", "time",
    "xargs", "parallel", "watch", "flock", "chroot", "unshare", "nsenter", "runuser", "gosu", "su-exec", "tini", "dumb-init", "systemd-run", "docker",
    "podman", "nerdctl", "kubectl", "oc", "docker-compose", "ssh", "sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "exec", "command", "srun",
    "mpirun", "mpiexec", "numactl", "unbuffer", "script", "screen", "tmux", "torify", "proxychains", "proxychains4", "valgrind", "gdb", "catchsegv",
    "baro", "chpst", "setpriv", "caffeinate", "then", "do", "else", "if", "while", "until", "!", "{", "xvfb-run", "dbus-run-session", "faketime", NULL,
};

const char *const redact_shells[] = {
    "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "fish", "csh", "tcsh", "busybox", "su", "runuser", "script", "flock", "rbash", NULL,
};

const char *const redact_remotes[] = {"ssh", "eval", "watch", "parallel", "xargs", "tmux", "screen", "sshpass", "pdsh", "clush", "expect", NULL};

const char *const redact_prose[] = {
    "git", "gh", "glab", "hg", "svn", "echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "ack", "notify-send", "logger", "sed", "awk", "gawk",
    "mawk", "man", "bzr", "jj", "find", "fd", "less", "more", "say", "figlet", "cowsay", "zenity", "dialog", "whiptail", NULL,
};

const struct shape redact_shapes[] = {
    {"AKIA", 16, 0}, {"ASIA", 16, 0}, {"ghp_", 20, 0}, {"gho_", 20, 0}, {"ghu_", 20, 0}, {"ghs_", 20, 0}, {"ghr_", 20, 0}, {"github_pat_", 20, 0},
    {"glpat-", 16, 0}, {"gldt-", 16, 0}, {"glrt-", 16, 0}, {"glcbt-", 16, 0}, {"glptt-", 16, 0}, {"glft-", 16, 0}, {"GR1348941", 16, 0},
    {"xoxb-", 10, 0}, {"xoxp-", 10, 0}, {"xoxa-", 10, 0}, {"xoxr-", 10, 0}, {"xoxs-", 10, 0}, {"xoxe-", 10, 0}, {"xoxe.", 10, 0}, {"xapp-", 10, 0},
    {"sk-", 20, 1}, {"sk_live_", 10, 0}, {"sk_test_", 10, 0}, {"rk_live_", 10, 0}, {"rk_test_", 10, 0}, {"whsec_", 16, 0}, {"AIza", 30, 0},
    {"ya29.", 20, 0}, {"GOCSPX-", 16, 0}, {"SG.", 30, 1}, {"hf_", 20, 0}, {"npm_", 30, 0}, {"pypi-", 30, 1}, {"dop_v1_", 20, 0}, {"doo_v1_", 20, 0},
    {"shpat_", 20, 0}, {"shpss_", 20, 0}, {"shpca_", 20, 0}, {"hvs.", 16, 0}, {"hvb.", 16, 0}, {"s.", 24, 1}, {"AGE-SECRET-KEY-1", 20, 0}, {"key-", 32, 1},
    {"lin_api_", 16, 0}, {"figd_", 20, 0}, {"nvapi-", 20, 0}, {"gsk_", 20, 0}, {"sq0atp-", 16, 0}, {"sq0csp-", 16, 0}, {"r8_", 30, 1}, {"tskey-", 10, 0},
    {"dckr_pat_", 16, 0}, {"PMAK-", 20, 0}, {"ATATT3", 20, 0}, {"ATBB", 24, 1}, {"dapi", 32, 1}, {"rubygems_", 32, 0}, {"pul-", 32, 1},
    {"sgp_", 32, 0}, {"secret_", 32, 1}, {"ntn_", 32, 1}, {"sntrys_", 20, 0}, {"NRAK-", 20, 0}, {"glsa_", 20, 0}, {"eyJrIjoi", 20, 0}, {"EAACEdEose0cBA", 10, 0},
    {"cio", 32, 1}, {"pat-", 32, 1}, {"xai-", 32, 1}, {"pplx-", 32, 0}, {"sl.", 40, 1}, {"CFPAT-", 20, 0}, {"dp.pt.", 20, 0}, {"dp.st.", 20, 0}, {"fo1_", 20, 0},
    {"FlyV1", 20, 0}, {"vercel_", 20, 1}, {"phc_", 30, 0}, {"wandb_v1_", 16, 0}, {"MTE", 50, 1}, {"AQAAAA", 40, 1}, {NULL, 0, 0},
};

const char *const redact_places[] = {
    "hooks.slack.com/services/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/", ".webhook.office.com/", "api.telegram.org/bot",
    "chat.googleapis.com/v1/spaces/", "hooks.zapier.com/hooks/", "maker.ifttt.com/trigger/", NULL,
};
