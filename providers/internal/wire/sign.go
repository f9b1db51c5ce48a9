package wire

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/convene-go/convene/providers"
)

// SignWith returns a Sign that puts a key, or else a token, into requests: the key into a
// header, or as a bearer token if header is "".
func SignWith(header, key string, token func(context.Context) (string, error)) Sign {
	return func(ctx context.Context, r *http.Request, _ []byte) ([]string, error) {
		switch {
		case key != "" && header != "":
			r.Header.Set(header, key)
		case key != "":
			r.Header.Set("Authorization", "Bearer "+key)
		case token != nil:
			t, err := token(ctx)
			if err != nil {
				return nil, fmt.Errorf("get a token: %w", err)
			}
			r.Header.Set("Authorization", "Bearer "+t)
			return []string{t}, nil
		}
		return nil, nil
	}
}

// NoKey says that a provider has neither key nor token.
func NoKey(provider string) error { return fmt.Errorf("no key for provider %q in Keys", provider) }

// CheckKey returns what is wrong with the key of a provider. It does not quote it.
func CheckKey(provider, key string) error {
	if strings.ContainsFunc(key, NotInKey) {
		return fmt.Errorf("the key for provider %q holds white space or a character that no key has", provider)
	}
	return nil
}

// secretHeader matches headers whose values are kept out of errors.
var secretHeader = regexp.MustCompile(`(?i)auth|key|token|secret|cookie`)

// Secrets returns the values of an opener's fields that no text may contain.
func Secrets(keys providers.Keys, h http.Header) []string {
	out := slices.Collect(maps.Values(keys))
	for name, values := range h {
		if secretHeader.MatchString(name) {
			out = append(out, values...)
		}
	}
	return out
}

// NotInKey matches what a file or a shell adds to a key, and what no header takes.
func NotInKey(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r > unicode.MaxASCII }
