// Package openai opens the models of OpenAI, by Responses or Chat Completions, those
// of Azure, and every server that speaks OpenAI's formats: Google's compatible
// endpoint, GLM, DeepSeek, OpenRouter, Ollama, vLLM and others.
//
// Answers are streamed inside, whether somebody reads along or not: a long one is
// not cut by a limit on the whole, silence is noticed, and what broke off says how
// far it came. The package reads no environment, neither for keys nor for proxies.
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

// Limits of an [Opener] that says none.
const (
	DefaultMaxBody = wire.MaxBody
	DefaultIdle    = wire.Idle
)

// Open returns what [providers.NewRoles] wants: the Open of an [Opener] with a
// copy of k.
func Open(k providers.Keys) func(providers.Spec) (providers.Model, error) {
	return Opener{Keys: maps.Clone(k)}.Open
}

// Opener opens models. The zero Opener opens those that need no key. Printing it
// shows no key.
type Opener struct {
	Keys providers.Keys

	// Tokens are asked before every call for a bearer token, by provider, where
	// there is no key: Azure's by Entra ID, Google's by a service account. They
	// cache. Safe for concurrent use.
	Tokens map[string]func(context.Context) (string, error) `json:"-"`

	// Header is sent with every request, such as one that a gateway wants.
	Header http.Header `json:"-"`

	// Transport carries the requests, and is where a proxy or a client
	// certificate is set. Nil: one that all Openers share, with time limits for
	// connecting and no proxy.
	Transport http.RoundTripper `json:"-"`

	// MaxBody is how many bytes of an answer are read, decompressed. An answer
	// that is longer is a Permanent error. At most 1 GiB; zero: DefaultMaxBody.
	MaxBody int64

	// Idle is for how long an answer that has begun may say nothing: more is a
	// Transient error. Until it begins, a model may think for 10 minutes. Zero:
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
// and with a BaseURL any other name but anthropic and bedrock, for a server that
// speaks OpenAI's chat completions there. The BaseURL holds what comes before
// /chat/completions, or Azure's /openai. Without an APIVersion Azure is asked by its
// v1 API, with a date by the older one, which has deployments in the URL. The key of
// a provider is sent to no other host than that of its Specs' BaseURL.
//
// API chooses the format. Without it, OpenAI's own reasoning models are asked by
// Responses, for Chat Completions refuses them tools; all others by Chat
// Completions, and by Responses from the call on in which a model wants that.
//
// The model is a [providers.Metered], so s's Price, Temperature, MaxTokens and
// Params count. Its Generate makes one attempt; s's Timeout limits it as a whole.
// Its errors are *[providers.Error].
//
// Request.Output becomes the vendor's own parameter for a schema, where there is
// one that takes it; otherwise words in the prompt. The answer may still not fit.
//
// What a model is known to refuse is not sent: a temperature to reasoning models.
// What else it refuses by an error that names the parameter is left out at once, and
// in later calls of that model: parameters for sampling and effort, a parameter for a
// schema, which then goes into the prompt, and thoughts that came with tool calls of
// a conversation that has changed since. What is in Params.Extra is always sent.
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
	return wire.New(s, options, wire.SignWith(v.header, key, token), m.begin, wire.Secrets(o.Keys, o.Header)...), nil
}

// String names the providers of which o has keys.
func (o Opener) String() string { return "openai.Opener with " + o.Keys.String() }

// Format is String, for every verb.
func (o Opener) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }
