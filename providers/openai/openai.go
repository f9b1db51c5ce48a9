// Package openai opens the models of OpenAI, by Responses or Chat Completions, those
// of Azure, and every server with OpenAI's formats: Google's compatible endpoint, GLM,
// DeepSeek, OpenRouter, Ollama, vLLM and others.
//
// Answers are always streamed from the vendor, with or without OnText: long answers are
// not cut by a time limit, silence is noticed, and an interrupted answer reports what it
// used so far. The package reads no environment, neither for keys nor for proxies.
package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/redact"
	"github.com/convene-go/convene/providers/internal/wire"
)

// Limits of an [Opener] without its own.
const (
	DefaultMaxBody = wire.MaxBody
	DefaultIdle    = wire.Idle
)

// Open returns the function that [providers.NewRoles] takes: the Open of an [Opener]
// with a copy of k.
func Open(k providers.Keys) func(providers.Spec) (providers.Model, error) {
	return Opener{Keys: maps.Clone(k)}.Open
}

// Opener opens models. The zero Opener opens those that need no key. Printing it
// shows no key.
type Opener struct {
	Keys providers.Keys // API keys by provider

	// Tokens are functions that return a bearer token, by provider, called before every
	// call if there is no key: Azure's by Entra ID, Google's by a service account. They
	// should cache. Safe for concurrent use.
	Tokens map[string]func(context.Context) (string, error) `json:"-"`

	// Header is sent with every request, such as one that a gateway requires.
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
}

// Open opens the model of s, without calling it. The providers are
//
//	azure       OpenAI's models on Azure: Model names the deployment, BaseURL the resource
//	deepseek    DeepSeek
//	glm         Z.ai; Zhipu's own is at https://open.bigmodel.cn/api/paas/v4
//	google      Gemini
//	ollama      by default at http://localhost:11434/v1, the only one without a key
//	openai      OpenAI
//	openrouter  OpenRouter
//
// and with a BaseURL any other name but anthropic and bedrock, for a server with OpenAI's
// chat completions there. The BaseURL is the part before /chat/completions, with or without
// /v1, or Azure's /openai. Without an APIVersion Azure is called by its v1 API, with a date by the older
// one, which has deployments in the URL. The key of a provider is sent to no other host
// than that of its Specs' BaseURL.
//
// API chooses the format. Without it, OpenAI's own reasoning models are called by
// Responses, because Chat Completions refuses them tools; all others by Chat
// Completions, and by Responses from the call on in which a model requires that.
//
// The model is a [providers.Metered], so s's Price, Temperature, MaxTokens and
// Params count. Its Generate makes one attempt; s's Timeout limits it as a whole.
// Its errors are *[providers.Error].
//
// Request.Output becomes the vendor's own parameter for a schema, if it has one that takes
// the schema; otherwise words in the prompt. The answer may still not fit.
//
// What a model is known to refuse is not sent: a temperature to reasoning models. If it
// refuses another parameter by name, the call is repeated without it, and later calls of
// that model leave it out: parameters for sampling and effort, a parameter for a schema,
// which then goes into the prompt, and thoughts that came with tool calls of a
// conversation that has changed since. Params.Extra is always sent.
func (o Opener) Open(s providers.Spec) (providers.Model, error) {
	m, err := o.open(s)
	if err != nil {
		return nil, fmt.Errorf("openai: open %s: %w", redact.New(wire.Secrets(o.Keys, o.Header)...).Clean(s.String()), err)
	}
	return providers.Metered{Model: m, Spec: s}, nil
}

func (o Opener) open(s providers.Spec) (*wire.Model, error) {
	options := wire.Options{Transport: o.Transport, MaxBody: o.MaxBody, Header: o.Header, Idle: o.Idle}
	if err := errors.Join(s.Validate(), options.Check()); err != nil {
		return nil, err
	}
	v, err := vendorOf(s)
	if err != nil {
		return nil, err
	}
	key, token := o.Keys[s.Provider], o.Tokens[s.Provider]
	if key == "" && token == nil && v.needsKey {
		return nil, wire.NoKey(s.Provider)
	}
	if err := wire.CheckKey(s.Provider, key); err != nil {
		return nil, err
	}
	m := &model{spec: s, vendor: v, memory: new(wire.Memory)}
	m.route = v.route(s, m.memory)
	return wire.New(s, options, wire.SignWith(v.header, key, token), m.begin, wire.Secrets(o.Keys, o.Header)...), nil
}

// String names the providers for which o has keys.
func (o Opener) String() string { return "openai.Opener with " + o.Keys.String() }

// Format is String, for every verb.
func (o Opener) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }
