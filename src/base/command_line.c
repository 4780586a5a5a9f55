/* SPDX-License-Identifier: Apache-2.0 */
#include "base/command_line.h"

/* The endings of files that a compiler reads, and of scripts that an interpreter executes. */
static const char *const sources[] = {".c", ".cc",   ".cpp", ".cxx",   ".C",   ".c++", ".m",  ".mm", ".i",   ".ii",
                                      ".s", ".S",    ".asm", ".f",     ".f90", ".F90", ".rs", ".go", ".zig", ".swift",
                                      ".d", ".java", ".kt",  ".scala", ".cs",  ".hs",  ".ml", ".cu", ".tex", ".proto"};
static const char *const scripts[] = {".py",  ".js", ".mjs", ".cjs", ".ts",   ".rb",  ".pl",  ".php",
                                      ".lua", ".R",  ".jl",  ".sh",  ".bash", ".tcl", ".exs", ".jar"};

static bool ends_with_any(struct span word, const char *const *endings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (span_ends(word, endings[i]))
            return true;
    }
    return false;
}
#define IS_ONE_OF(word, list) ends_with_any(word, list, sizeof(list) / sizeof(*(list)))

/* Is it a temporary file that a compiler passes to the next tool, such as /tmp/ccQ1w2e3.s or /tmp/rustcX1y2/list? It
 * tells nothing. A project may be in a folder of /tmp. */
static bool is_temporary(struct span word)
{
    size_t skip = span_starts(word, "/tmp/") ? 5 : span_starts(word, "/var/tmp/") ? 9 : 0;
    struct span name = span_of(word.at + skip, word.len - skip);
    return skip && (!memchr(name.at, '/', name.len) || span_starts(name, "rustc"));
}

static struct span base_name(struct span path)
{
    struct span name = span_base_name(path);
    return name.len ? name : path;
}

/* Does the word behind it name a list of what the file depends on, such as -MF a.o.d? */
static bool is_before_dependencies(struct span word)
{
    return span_equal(word, "-MF") || span_equal(word, "-MT") || span_equal(word, "-MQ");
}

/* Words that may be the subject of the command. */
struct found {
    struct span crate, source, script, output, folder;
    unsigned sources;
    bool has_folder; /* "-C FOLDER" is where the program works */
    bool has_module; /* "-m MODULE" is what it executes */
};

static void take_subject(struct found *f, struct span before, struct span word)
{
    bool is_name = !memchr(word.at, '=', word.len) && !memchr(word.at, ',', word.len) && *word.at != '-';
    if (!is_name || is_before_dependencies(before))
        return;
    if (span_equal(before, "--crate-name")) {
        f->crate = word;
    } else if (span_equal(before, "-o") && !is_temporary(word)) {
        f->output = word;
    } else if (f->has_folder && span_equal(before, "-C")) {
        f->folder = word;
    } else if (f->has_module && !f->script.at && span_equal(before, "-m")) {
        f->script = word;
    } else if (IS_ONE_OF(word, sources) && !is_temporary(word)) {
        f->source = f->source.at ? f->source : word;
        f->sources++;
    } else if (!f->script.at && IS_ONE_OF(word, scripts)) {
        f->script = word;
    }
}

/* Returns where the quoted word at the beginning of a line ends: behind its last quote. 'it'\''s' is one word. */
static size_t end_of_quoted(struct span line)
{
    bool inside = false;
    size_t i = 0;
    for (; i < line.len && (inside || line.at[i] != ' '); i++) {
        inside = line.at[i] == '\'' ? !inside : inside;
        i += !inside && line.at[i] == '\\' && i + 1 < line.len;
    }
    return i;
}

/* Takes the quotes from a program whose name has a blank, and from a title: servers write over their arguments, and
 * then the whole line is one word, 'postgres: checkpointer ', or 'redis-server 127.0.0.1:6379'. Returns what is left of
 * the line, without the blanks at the end of a title. */
static struct span split_quoted(struct span line, struct command_line *ret)
{
    size_t end = end_of_quoted(line);
    struct span word = span_of(line.at + 1, end > 1 ? end - 1 : 0);
    if (word.len && word.at[word.len - 1] == '\'')
        word.len--;
    if (end < line.len || span_starts(word, "/")) {
        ret->program = span_starts(word, "/") ? base_name(word) : word;
        ret->rest = span_of(line.at + end, line.len - end);
        return line;
    }
    while (word.len && word.at[word.len - 1] == ' ')
        word.len--;
    const char *blank = word.len ? memchr(word.at, ' ', word.len) : NULL;
    size_t n = blank ? (size_t)(blank - word.at) : word.len;
    ret->program = span_of(word.at, n);
    ret->rest = span_of(word.at + n, word.len - n);
    return word;
}

/* All packages of a Rust program call the crate of their build.rs build_script_build; its folder tells them apart. */
static struct span with_folder(struct span path)
{
    size_t at = (size_t)(base_name(path).at - path.at);
    for (at = at ? at - 1 : 0; at && path.at[at - 1] != '/'; at--)
        ;
    return span_of(path.at + at, path.len - at);
}

void command_line_read(const char *text, size_t len, struct command_line *ret)
{
    struct span left, word, before = {NULL, 0}, line = span_of(text, strnlen(text, len));
    struct found f = {.sources = 0};
    const char *blank = memchr(text, ' ', line.len);
    size_t end = blank ? (size_t)(blank - text) : line.len;
    *ret = (struct command_line){.program = span_of(text, end), .rest = span_of(text + end, line.len - end)};
    if (*text == '/')
        ret->program = base_name(ret->program);
    if (line.len && *text == '\'')
        line = split_quoted(line, ret);
    left = ret->rest;
    f.has_folder =
        span_equal(ret->program, "make") || span_equal(ret->program, "gmake") || span_equal(ret->program, "ninja");
    f.has_module = span_starts(ret->program, "python");
    for (scan_blanks(&left); scan_word(&left, &word); scan_blanks(&left), before = word)
        take_subject(&f, before.at ? before : span_of("", 0), word);
    if (f.crate.at && f.source.at && span_equal(f.crate, "build_script_build")) {
        ret->subject = with_folder(f.source);
    } else if (f.crate.at) {
        ret->subject = f.crate;
    } else if (f.source.at && (f.sources == 1 || !f.output.at)) {
        ret->subject = f.source;
        ret->is_path = true;
    } else if (f.script.at) { /* its arguments tell runs of one script apart */
        const char *name = base_name(f.script).at;
        ret->subject = span_of(name, (size_t)(line.at + line.len - name));
    } else if (f.output.at) {
        ret->subject = f.output;
        ret->is_path = true;
    } else if (f.folder.at) {
        ret->subject = f.folder;
    }
}

struct span command_line_label(const struct command_line *c, size_t most)
{
    struct span s = c->subject.at ? c->subject : c->rest;
    scan_blanks(&s);
    s = c->is_path ? base_name(s) : s;
    if (s.len > most) {
        s.len = most;
        while (s.len && ((unsigned char)s.at[s.len] & 0xc0) == 0x80)
            s.len--;
    }
    return s;
}

size_t command_line_skip(const struct command_line *c, size_t columns)
{
    if (!c->subject.at || c->rest.len <= columns)
        return 0;
    size_t at = (size_t)(c->subject.at - c->rest.at), end = at + c->subject.len;
    return (c->is_path ? end : at + 8) <= columns || at < 8 ? 0 : at;
}
