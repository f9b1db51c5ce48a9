// Package anthropic opens Claude at Anthropic's own service, and at every server
// that speaks Anthropic's messages.
//
// Answers are always streamed from the vendor, with or without OnText: long answers are
// not cut by a time limit, silence is noticed, and an interrupted answer reports what it
// used so far. The package reads no environment, neither for keys nor for proxies.
package anthropic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/claude"
	"github.com/convene-go/convene/providers/internal/redact"
	"github.com/convene-go/convene/providers/internal/wire"
)

// Limits of an [Opener] without its own.
const (
	DefaultMaxBody = wire.MaxBody
	DefaultIdle    = wire.Idle
)

// version is that of the format.
const version = "2023-06-01"

// Open returns the function that [providers.NewRoles] takes: the Open of an [Opener]
// with a copy of k.
func Open(k providers.Keys) func(providers.Spec) (providers.Model, error) {
	return Opener{Keys: maps.Clone(k)}.Open
}

// Opener opens models. Printing it shows no key.
type Opener struct {
	Keys providers.Keys // API keys by provider

	// Tokens are functions that return a bearer token, by provider, called before
	// every call if there is no key. They should cache. Safe for concurrent use.
	Tokens map[string]func(context.Context) (string, error) `json:"-"`

	// Header is sent with every request, such as anthropic-beta.
	Header http.Header `json:"-"`

	// Transport carries the requests, and is where a proxy or a client
	// certificate is set. Nil: one that all Openers share, with time limits for
	// connecting and no proxy.
	Transport http.RoundTripper `json:"-"`

	// MaxBody is how many bytes of an answer are read, decompressed. An answer
	// that is longer is a Permanent error. At most 1 GiB; zero: DefaultMaxBody.
	MaxBody int64

	// Idle is how long a begun answer may be silent: longer silence is a Transient
	// error. Before the answer begins, a model may think for 10 minutes. Zero:
	// DefaultIdle.
	Idle time.Duration

	// NoCache disables prompt caching. Otherwise long instructions are cached, and with
	// tools the conversation too, for 5 minutes: the next turn pays a tenth for what it
	// repeats, the first one a quarter more.
	NoCache bool
}

// Open opens the model of s, without calling it. The provider is anthropic, or with
// a BaseURL any other. The BaseURL is the part before /v1/messages, as for Anthropic's
// own SDKs, or that before /messages. The key of a provider is sent to no other host than
// that of its Specs' BaseURL.
//
// The model is a [providers.Metered], so s's Price, Temperature, MaxTokens and
// Params count. Its Generate makes one attempt; s's Timeout limits it as a whole.
// Its errors are *[providers.Error].
//
// Request.Output becomes the vendor's own parameter for a schema, if the model takes
// one; otherwise the input of a tool that the model must call, or words in the prompt.
// The answer may still not fit. Models that cannot be forced to call a tool are asked
// to in words.
//
// What a model is known to refuse is not sent, such as a temperature to models since
// Claude Opus 4.7, or a seed to any. If it refuses another parameter by name, the call is
// repeated without it, and later calls of that model leave it out; so are thoughts that
// came with tool calls of a conversation that has changed since. Params.Extra is always
// sent.
func (o Opener) Open(s providers.Spec) (providers.Model, error) {
	m, err := o.open(s)
	if err != nil {
		return nil, fmt.Errorf("anthropic: open %s: %w", redact.New(wire.Secrets(o.Keys, o.Header)...).Clean(s.String()), err)
	}
	return providers.Metered{Model: m, Spec: s}, nil
}

func (o Opener) open(s providers.Spec) (*wire.Model, error) {
	header := o.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if header.Get("Anthropic-Version") == "" {
		header.Set("Anthropic-Version", version)
	}
	options := wire.Options{Transport: o.Transport, MaxBody: o.MaxBody, Header: header, Idle: o.Idle}
	if err := errors.Join(s.Validate(), options.Check(), check(s)); err != nil {
		return nil, err
	}
	key, token := o.Keys[s.Provider], o.Tokens[s.Provider]
	if key == "" && token == nil && s.Provider == providers.Anthropic {
		return nil, wire.NoKey(s.Provider)
	}
	if err := wire.CheckKey(s.Provider, key); err != nil {
		return nil, err
	}
	memory := new(wire.Memory)
	service := &claude.Service{
		Provider: s.Provider, Name: s.Model, Model: claude.ModelOf(cmp.Or(s.Family, s.Model)), NoCache: o.NoCache, Memory: memory, Stream: true,
		Route: routeOf(s.BaseURL, memory),
	}
	begin := func(req providers.Request) (wire.Talk, error) { return service.Begin(req), nil }
	return wire.New(s, options, wire.SignWith("X-Api-Key", key, token), begin, wire.Secrets(o.Keys, o.Header)...), nil
}

// routeOf returns where /messages is. Anthropic's own SDKs, and so most gateways, take the
// URL before /v1.
func routeOf(baseURL string, m *wire.Memory) wire.Route {
	base := strings.TrimSuffix(cmp.Or(baseURL, "https://api.anthropic.com"), "/")
	switch {
	case wire.Versioned(base):
		return wire.NewRoute(base, "", m)
	case baseURL == "":
		return wire.NewRoute(base+"/v1", "", m)
	}
	return wire.NewRoute(base+"/v1", base, m)
}

// check returns every fault of the fields of s other than the model joined into one
// error, or nil.
func check(s providers.Spec) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Provider != providers.Anthropic && s.BaseURL == "" {
		bad("%w %q, known: %s, and any with a baseURL", providers.ErrUnknownProvider, s.Provider, providers.Anthropic)
	}
	if s.APIVersion != "" {
		bad("apiVersion is %q, which azure alone has", s.APIVersion)
	}
	if s.Region != "" {
		bad("region is %q, which bedrock alone has", s.Region)
	}
	if s.API != "" {
		bad("api is %q, which OpenAI's formats alone have", s.API)
	}
	return errors.Join(errs...)
}

// String names the providers for which o has keys.
func (o Opener) String() string { return "anthropic.Opener with " + o.Keys.String() }

// Format is String, for every verb.
func (o Opener) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }
