// Package langchain opens models over langchaingo: those of OpenAI and Ollama,
// and of every server that speaks OpenAI's chat completions.
//
// The package puts its own transport under langchaingo's clients, which makes
// what they cannot be trusted with: errors by kind with the vendor's RetryAfter,
// cancellation, limits on what is read, no key in an error or at another host,
// JSON Schema answers, streams that are complete or an error. It reads no
// environment variables, neither for keys nor for proxies.
package langchain

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tmc/langchaingo/llms/openai"

	"github.com/convene-go/convene/providers"
)

// Limits of an [Opener] and a [providers.Spec] that say none.
const (
	DefaultMaxBody = 16 << 20
	DefaultTimeout = 10 * time.Minute // of one attempt
)

// Keys are API keys by provider. Printing them shows the providers alone.
type Keys map[string]string

// String names the providers, not the keys.
func (k Keys) String() string {
	return "keys of " + strings.Join(slices.Sorted(maps.Keys(k)), ", ")
}

// GoString is String, for %#v.
func (k Keys) GoString() string { return k.String() }

// Open returns what [providers.NewRoles] wants: the Open of an [Opener] with a
// copy of k.
func Open(k Keys) func(providers.Spec) (providers.Model, error) {
	return Opener{Keys: maps.Clone(k)}.Open
}

// Opener opens models. The zero Opener opens those that need no key.
type Opener struct {
	Keys Keys

	// Transport carries the requests, and is where a proxy or a client
	// certificate is set. Nil: one that all Openers share, with time limits for
	// connecting and no proxy.
	Transport http.RoundTripper

	// MaxBody is how many bytes of an answer are read, decompressed. An answer
	// that is longer is a Permanent error. At most 1 GiB; zero: DefaultMaxBody.
	MaxBody int64
}

// Open opens the model of s, without calling it.
//
// The provider is openai, which needs a key; ollama, by default at
// http://localhost:11434/v1; or with a BaseURL any other name, for a server that
// speaks OpenAI's chat completions there. The BaseURL holds what comes before
// /chat/completions. The key of a provider is sent, if there is one, to no other
// host than that of its Specs' BaseURL.
//
// The model is a [providers.Metered], so s's Price, Temperature and MaxTokens
// count. Its Generate makes one attempt. It is limited by s's Timeout, or
// [DefaultTimeout]: running out of that is a Transient error. With Tools it does
// not stream: OnText gets the text in one piece. Its errors are *[providers.Error].
func (o Opener) Open(s providers.Spec) (providers.Model, error) {
	m, err := o.open(s)
	if err != nil {
		return nil, fmt.Errorf("langchain: open %s: %w", redactor(o.Keys).clean(s.String()), err)
	}
	return providers.Metered{Model: m, Spec: s}, nil
}

func (o Opener) open(s providers.Spec) (*model, error) {
	if err := errors.Join(s.Validate(), o.check()); err != nil {
		return nil, err
	}
	v, err := vendorOf(s)
	if err != nil {
		return nil, err
	}
	key := o.Keys[s.Provider]
	if err := v.checkKey(s.Provider, key); err != nil {
		return nil, err
	}
	m := &model{spec: s, vendor: v, timeout: DefaultTimeout, redact: redactor(o.Keys)}
	if s.Timeout != "" {
		m.timeout, _ = time.ParseDuration(s.Timeout) // Validate has seen it
	}
	m.llm, err = openai.New(
		openai.WithModel(s.Model),
		openai.WithBaseURL(v.baseURL),
		openai.WithToken(orPlaceholder(key)),
		openai.WithOrganization(""), // otherwise it comes from the environment
		openai.WithHTTPClient(o.client(key)),
	)
	return m, err
}

func (o Opener) check() error {
	if o.MaxBody < 0 || o.MaxBody > 1<<30 {
		return fmt.Errorf("MaxBody is %d, want 0 to 1 GiB", o.MaxBody)
	}
	return nil
}

// client returns langchaingo's http client, for a model with that key or none. It follows no redirects: they would
// carry the key elsewhere.
func (o Opener) client(key string) *http.Client {
	t := &transport{base: o.Transport, maxBody: o.MaxBody, authorize: key != ""}
	if t.base == nil {
		t.base = sharedTransport
	}
	if t.maxBody == 0 {
		t.maxBody = DefaultMaxBody
	}
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// orPlaceholder returns key, or what langchaingo wants instead of none. The
// transport takes it away again.
func orPlaceholder(key string) string {
	if key == "" {
		return "none"
	}
	return key
}

// notInKey finds what a file or a shell adds to a key, and what no header takes.
func notInKey(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r > unicode.MaxASCII }
