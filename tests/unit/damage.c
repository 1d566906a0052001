/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tests/unit/damage.h"

#include "tests/unit/random.h"

#include <stdio.h>
#include <string.h>

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static size_t below(uint64_t *seed, size_t n)
{
    return n ? (size_t)random_below(seed, n) : 0;
}

static void splice(document *doc, size_t at, size_t removed, const char *text, size_t length)
{
    if (at + removed > doc->length || doc->length + length > DAMAGE_MOST)
        return;
    memmove(doc->text + at + length, doc->text + at + removed, doc->length - at - removed);
    memcpy(doc->text + at, text, length);
    doc->length += length - removed;
}

static void change_byte(document *doc, const damage_alphabet *alphabet, uint64_t *seed)
{
    if (!doc->length)
        return;
    char byte = alphabet->bytes[below(seed, alphabet->nbytes)];
    doc->text[below(seed, doc->length)] = byte;
}

static void cut_off(document *doc, const damage_alphabet *alphabet, uint64_t *seed)
{
    (void)alphabet;
    doc->length = below(seed, doc->length + 1);
}

static void leave_out(document *doc, const damage_alphabet *alphabet, uint64_t *seed)
{
    (void)alphabet;
    size_t at = below(seed, doc->length);
    splice(doc, at, below(seed, 40), "", 0);
}

static void repeat(document *doc, const damage_alphabet *alphabet, uint64_t *seed)
{
    char piece[200];
    size_t length = below(seed, sizeof piece), from = below(seed, doc->length);
    (void)alphabet;
    if (from + length > doc->length)
        return;
    memcpy(piece, doc->text + from, length);
    splice(doc, below(seed, doc->length), 0, piece, length);
}

static void change_word(document *doc, const damage_alphabet *alphabet, uint64_t *seed)
{
    size_t at = below(seed, doc->length), end;
    const char *text = alphabet->words[below(seed, alphabet->nwords)];
    while (at > 0 && !strchr(alphabet->ends, doc->text[at - 1]))
        at--;
    for (end = at; end < doc->length && !strchr(alphabet->ends, doc->text[end]);)
        end++;
    splice(doc, at, end - at, text, strlen(text));
}

document damage(const document *doc, const damage_alphabet *alphabet, uint64_t *seed)
{
    static void (*const changes[])(document *, const damage_alphabet *, uint64_t *) = {
        change_byte, cut_off, leave_out, repeat, change_word, change_word, change_word};
    document other = *doc;
    for (size_t n = 1 + below(seed, 3); n > 0; n--)
        changes[below(seed, sizeof changes / sizeof *changes)](&other, alphabet, seed);
    return other;
}

document damage_load(const char *path, size_t most)
{
    document doc;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    doc.length = fread(doc.text, 1, most < DAMAGE_MOST ? most : DAMAGE_MOST, file);
    fclose(file);
    return doc;
}
