// Package redact removes API keys from texts: given ones, and texts that look like a key.
package redact

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Mark replaces a key.
const Mark = "[redacted]"

// shortest is the least length of a secret. Shorter texts are in every sentence.
const shortest = 4

// shapes are the keys of vendors: OpenAI's and Anthropic's, Google's, GLM's, AWS's,
// GitHub's, Slack's, tokens of three parts, and whatever follows "bearer" or
// "key=". The boundaries keep words such as "risk-assessment".
var shapes = regexp.MustCompile(`(?i)\bsk-[a-z0-9_-]{6,}|\bAIza[0-9a-z_-]{20,}|\b[0-9a-f]{32}\.[0-9a-z]{16}\b|` +
	`\bA[KS]IA[0-9A-Z]{16}\b|\bgh[pousr]_[0-9a-z]{20,}|\bgithub_pat_[0-9a-z_]{20,}|\bxox[a-z]-[0-9a-z-]{10,}|` +
	`\beyJ[a-z0-9_-]{8,}\.[a-z0-9_-]{8,}\.[a-z0-9_-]*|` +
	`(?:\bbearer\s+|key(?:=|\\?["']\s*:\s*\\?["'])|api[-_]?key:\s+)[a-z0-9._~+/=-]{16,}`)

// Redactor removes keys from texts. The zero Redactor knows no secrets, only the forms of
// keys. Printing one shows no secret. Safe for concurrent use.
type Redactor struct {
	known *known // nil: no secrets
}

// known are the secrets in all their forms, behind a pointer, so that printing a Redactor
// does not print them.
type known struct {
	secrets  []string
	forms    []string // the longest first: one may be the beginning of another
	replacer *strings.Replacer
}

// New returns the Redactor that knows secrets. It also finds them escaped for
// URLs and in JSON. Secrets of less than 4 bytes are ignored, because every text
// contains them.
func New(secrets ...string) Redactor {
	var forms []string
	for _, s := range secrets {
		if len(s) >= shortest && !strings.Contains(Mark, s) {
			forms = append(forms, s, url.QueryEscape(s), url.PathEscape(s), quoted(s))
		}
	}
	if len(forms) == 0 {
		return Redactor{}
	}
	slices.SortFunc(forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	forms = slices.Compact(forms)
	var pairs []string
	for _, f := range forms {
		pairs = append(pairs, f, Mark)
	}
	return Redactor{&known{secrets, forms, strings.NewReplacer(pairs...)}}
}

// With returns the Redactor that knows the secrets of r and these.
func (r Redactor) With(secrets ...string) Redactor {
	switch {
	case len(secrets) == 0:
		return r
	case r.known == nil:
		return New(secrets...)
	}
	return New(append(slices.Clip(r.known.secrets), secrets...)...)
}

// Clean returns text with [Mark] instead of every key.
func (r Redactor) Clean(text string) string {
	if r.known != nil {
		text = r.known.replacer.Replace(text)
	}
	return shapes.ReplaceAllString(text, Mark)
}

// Holds says whether text contains a key, that is whether Clean would change it.
func (r Redactor) Holds(text string) bool {
	if r.known != nil && slices.ContainsFunc(r.known.forms, func(f string) bool { return strings.Contains(text, f) }) {
		return true
	}
	return shapes.MatchString(text)
}

// quoted returns s as between the quotes of a JSON string.
func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic("redact: a string that is no JSON") // impossible
	}
	return string(data[1 : len(data)-1])
}
