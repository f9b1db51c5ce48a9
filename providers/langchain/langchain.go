// Package langchain opens models over langchaingo: those of OpenAI, Anthropic,
// Google, GLM, Ollama and Azure, and of every server that speaks OpenAI's chat
// completions.
//
// The package puts its own transport under langchaingo's clients, which makes
// what they cannot be trusted with: errors by kind with the vendor's RetryAfter,
// cancellation, limits on what is read, no key in an error or at another host,
// JSON Schema answers, conversations that began with another vendor, streams that
// are complete or an error. It reads no environment variables, neither for keys
// nor for proxies.
package langchain

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/redact"
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

// MarshalText is String, for JSON and for logs made of it.
func (k Keys) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

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

// Open opens the model of s, without calling it. The providers are
//
//	anthropic   Claude
//	azure       OpenAI's models on Azure: Model names the deployment, BaseURL the resource
//	glm         Z.ai; Zhipu's own is at https://open.bigmodel.cn/api/paas/v4
//	google      Gemini
//	ollama      by default at http://localhost:11434/v1, the only one without a key
//	openai
//
// and with a BaseURL any other name but bedrock, for a server that speaks OpenAI's
// chat completions there. The BaseURL holds what comes before /chat/completions,
// Anthropic's /messages, or Azure's /openai. APIVersion is Azure's, by default the
// newest stable one. The key of a provider is sent, if there is one, to no other
// host than that of its Specs' BaseURL.
//
// The model is a [providers.Metered], so s's Price, Temperature and MaxTokens
// count; Claude models that take no temperature are not sent one. Its Generate
// makes one attempt, limited by s's Timeout or [DefaultTimeout]: running out of
// that is a Transient error. Its errors are *[providers.Error].
//
// Request.Output becomes the vendor's own parameter for a schema, where there is
// one that takes it; otherwise the input of a tool that the model has to call, or
// words in the prompt. The answer may still not fit. A ToolChoice that forces a
// tool is an Invalid error on Claude models that cannot be forced.
//
// An attempt is sent again, at once, if the vendor refuses what can be left out: a
// parameter for a schema, which then goes into the prompt, or thoughts that came
// with tool calls of a conversation that has changed since.
//
// With Tools, and where an answer with a schema changes on its way, there is no
// stream: OnText gets the text in one piece.
func (o Opener) Open(s providers.Spec) (providers.Model, error) {
	m, err := o.open(s)
	if err != nil {
		return nil, fmt.Errorf("langchain: open %s: %w", o.redactor().Clean(s.String()), err)
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
	m := &model{spec: s, vendor: v, claude: claudeModelOf(s.Model), timeout: DefaultTimeout, redact: o.redactor()}
	if s.Timeout != "" {
		m.timeout, _ = time.ParseDuration(s.Timeout) // Validate has seen it
	}
	m.llm, err = v.open(s, orPlaceholder(key), o.client(key))
	return m, err
}

// open opens langchaingo's client. It takes from the environment what it is not
// told.
func (v vendor) open(s providers.Spec, key string, client *http.Client) (llms.Model, error) {
	if v.dialect == (claude{}) {
		return anthropic.New(
			anthropic.WithModel(s.Model), anthropic.WithBaseURL(v.baseURL),
			anthropic.WithToken(key), anthropic.WithHTTPClient(client),
		)
	}
	options := []openai.Option{
		openai.WithModel(s.Model), openai.WithBaseURL(v.baseURL), openai.WithOrganization(""),
		openai.WithToken(key), openai.WithHTTPClient(client),
	}
	if v.azure {
		options = append(options, openai.WithAPIType(openai.APITypeAzure), openai.WithAPIVersion(cmp.Or(s.APIVersion, azureVersion)))
	}
	return openai.New(options...)
}

func (o Opener) redactor() redact.Redactor { return redact.New(slices.Collect(maps.Values(o.Keys))...) }

func (o Opener) check() error {
	if o.MaxBody < 0 || o.MaxBody > 1<<30 {
		return fmt.Errorf("MaxBody is %d, want 0 to 1 GiB", o.MaxBody)
	}
	return nil
}

// client returns langchaingo's http client, for a model with that key or none. It
// follows no redirects: they would carry the key elsewhere.
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
