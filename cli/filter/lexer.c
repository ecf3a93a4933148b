/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/internal.h"

#include <string.h>

static const struct {
    const char *text;
    enum filter_token kind;
    enum filter_relation relation;
} signs[] =
    {
        /* longest first */
        {"===", TOKEN_RELATION, ALL_EQ},
        {"!==", TOKEN_RELATION, ANY_NE},
        {"==", TOKEN_RELATION, EQ},
        {"!=", TOKEN_RELATION, NE},
        {"<=", TOKEN_RELATION, LE},
        {">=", TOKEN_RELATION, GE},
        {"<", TOKEN_RELATION, LT},
        {">", TOKEN_RELATION, GT},
        {"~", TOKEN_RELATION, MATCHES},
        {"&&", TOKEN_AND, EQ},
        {"||", TOKEN_OR, EQ},
        {"!", TOKEN_NOT, EQ},
        {"(", TOKEN_OPEN, EQ},
        {")", TOKEN_CLOSE, EQ},
        {"{", TOKEN_BRACE_OPEN, EQ},
        {"}", TOKEN_BRACE_CLOSE, EQ},
        {",", TOKEN_COMMA, EQ},
        {"..", TOKEN_RANGE, EQ},
},
  words[] = {
      {"and", TOKEN_AND, EQ},
      {"or", TOKEN_OR, EQ},
      {"not", TOKEN_NOT, EQ},
      {"in", TOKEN_IN, IN},
      {"eq", TOKEN_RELATION, EQ},
      {"any_eq", TOKEN_RELATION, EQ},
      {"all_eq", TOKEN_RELATION, ALL_EQ},
      {"ne", TOKEN_RELATION, NE},
      {"all_ne", TOKEN_RELATION, NE},
      {"any_ne", TOKEN_RELATION, ANY_NE},
      {"lt", TOKEN_RELATION, LT},
      {"le", TOKEN_RELATION, LE},
      {"gt", TOKEN_RELATION, GT},
      {"ge", TOKEN_RELATION, GE},
      {"contains", TOKEN_RELATION, CONTAINS},
      {"matches", TOKEN_RELATION, MATCHES},
};

static bool word_char(const char *p)
{
    if (p[0] == '.' && p[1] == '.')
        return false; /* a range */
    return g_ascii_isalnum(*p) || strchr("_.:/+-", *p) || (unsigned char)*p >= 0x80;
}

static void bad(struct lexer *l, const char *problem)
{
    l->kind = TOKEN_BAD;
    l->problem = problem;
}

static void quoted(struct lexer *l)
{
    char quote = l->text[l->at++];
    size_t n = 0;

    while (l->text[l->at] != quote) {
        char c = l->text[l->at];

        if (c == '\0') {
            l->length = l->at - l->begin;
            bad(l, "the string does not end");
            return;
        }
        /* before a quote or itself; else it is the text's, of a regular expression perhaps */
        if (c == '\\' && (l->text[l->at + 1] == quote || l->text[l->at + 1] == '\\'))
            c = l->text[++l->at];
        l->at++;
        if (n + 1 == sizeof(l->word)) {
            bad(l, "the string is too long");
            return;
        }
        l->word[n++] = c;
    }
    l->word[n] = '\0';
    l->at++;
    l->kind = TOKEN_STRING;
    l->length = l->at - l->begin;
}

void lexer_next(struct lexer *l)
{
    size_t n = 0;

    while (g_ascii_isspace(l->text[l->at]))
        l->at++;
    l->begin = l->at;
    l->length = 1;
    if (l->text[l->at] == '\0') {
        l->kind = TOKEN_END;
        return;
    }
    if (l->text[l->at] == '"' || l->text[l->at] == '\'') {
        quoted(l);
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(signs); i++) {
        size_t length = strlen(signs[i].text);

        if (strncmp(l->text + l->at, signs[i].text, length) == 0) {
            l->kind = signs[i].kind;
            l->relation = signs[i].relation;
            l->length = length;
            l->at += length;
            return;
        }
    }
    while (l->text[l->at] && word_char(l->text + l->at)) {
        if (n + 1 == sizeof(l->word)) {
            bad(l, "the word is too long");
            return;
        }
        l->word[n++] = l->text[l->at++];
    }
    l->word[n] = '\0';
    if (n == 0) {
        bad(l, "this character means nothing here");
        return;
    }
    l->length = n;
    l->kind = TOKEN_WORD;
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(words[i].text, l->word) == 0) {
            l->kind = words[i].kind;
            l->relation = words[i].relation;
        }
}
