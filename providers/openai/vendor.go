package openai

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/wire"
)

// vendor is how one provider differs from the others.
type vendor struct {
	baseURL      string // "": it has to be given
	header       string // name of the header with the key; "": it is a bearer token
	needsKey     bool
	azure        bool
	openai       bool                                        // the models are OpenAI's: what they refuse is known
	responses    bool                                        // it has Responses too
	maxTokens    string                                      // the field for the longest answer
	most         string                                      // its name for the highest effort
	thinking     bool                                        // effort none is thinking disabled
	typed        func(m *model, req providers.Request) typed // how it makes an answer fit a schema
	extras       bool                                        // the extra fields of a tool call must be sent back
	unsigned     string                                      // JSON: the extra fields for calls that another vendor made; "": none
	thoughtsLeft bool                                        // its count of output leaves reasoning out
}

// vendors are the providers that are known by name.
var vendors = map[string]vendor{
	providers.Azure: {
		header: "Api-Key", needsKey: true, azure: true, openai: true, responses: true,
		maxTokens: "max_completion_tokens", most: "xhigh", typed: typedStrict,
	},
	providers.DeepSeek: {
		baseURL: "https://api.deepseek.com", needsKey: true,
		maxTokens: "max_tokens", most: "max", thinking: true, typed: typedObject,
	},
	providers.GLM: {
		baseURL: "https://api.z.ai/api/paas/v4", needsKey: true,
		maxTokens: "max_tokens", most: "high", thinking: true, typed: typedObject,
	},
	providers.Google: {
		baseURL: "https://generativelanguage.googleapis.com/v1beta/openai", needsKey: true,
		maxTokens: "max_tokens", most: "high", typed: typedGemini, extras: true, thoughtsLeft: true,
		unsigned: `{"google":{"thought_signature":"skip_thought_signature_validator"}}`,
	},
	providers.Ollama: {
		baseURL:   "http://localhost:11434/v1",
		maxTokens: "max_tokens", most: "high", typed: typedWithoutTools,
	},
	providers.OpenAI: {
		baseURL: "https://api.openai.com/v1", needsKey: true, openai: true, responses: true,
		maxTokens: "max_completion_tokens", most: "xhigh", typed: typedStrict,
	},
	providers.OpenRouter: {
		baseURL: "https://openrouter.ai/api/v1", needsKey: true,
		maxTokens: "max_tokens", most: "xhigh", typed: typedPlain, extras: true,
	},
}

// compatible is every other server with OpenAI's chat completions.
var compatible = vendor{maxTokens: "max_tokens", most: "high", typed: typedPlain, extras: true, responses: true}

func vendorOf(s providers.Spec) (vendor, error) {
	v, known := vendors[s.Provider]
	switch {
	case known:
	case s.Provider == providers.Bedrock, s.Provider == providers.Anthropic:
		return vendor{}, fmt.Errorf("%s's models are opened by package providers/%s", s.Provider, s.Provider)
	case s.BaseURL == "":
		return vendor{}, fmt.Errorf("%w %q, known: %s, and any with a baseURL",
			providers.ErrUnknownProvider, s.Provider, strings.Join(slices.Sorted(maps.Keys(vendors)), ", "))
	default:
		v = compatible
	}
	if s.BaseURL != "" {
		v.baseURL = strings.TrimSuffix(s.BaseURL, "/")
	}
	return v, v.check(s)
}

var (
	versionOfAzure = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-preview)?$`)
	deployment     = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
)

// check returns every fault of s that only v has joined into one error, or nil. On Azure
// model and version may become parts of the URL.
func (v vendor) check(s providers.Spec) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if v.baseURL == "" {
		bad("baseURL is empty, want that of the resource, such as https://name.openai.azure.com")
	}
	if v.azure && !deployment.MatchString(s.Model) {
		bad("model name %q is no name of a deployment", s.Model)
	}
	switch {
	case !v.azure && s.APIVersion != "":
		bad("apiVersion is %q, which azure alone has", s.APIVersion)
	case v.azure && s.APIVersion != "" && !versionOfAzure.MatchString(s.APIVersion):
		bad(`apiVersion is %q, want a date such as "2025-04-01-preview", or nothing for the v1 API`, s.APIVersion)
	}
	if s.Region != "" {
		bad("region is %q, which bedrock alone has", s.Region)
	}
	if s.API == "responses" && !v.responses {
		bad("provider %q has no API %q", s.Provider, s.API)
	}
	return errors.Join(errs...)
}

// route returns where the operations of a model are. A base URL that a host gave is
// taken as it is, or with /v1 behind it where the server has nothing there. That is not
// tried where the path is the vendor's own.
func (v vendor) route(s providers.Spec, m *wire.Memory) wire.Route {
	second, own := "", vendors[s.Provider].baseURL
	if s.BaseURL != "" && !v.azure && !wire.Versioned(v.baseURL) && (own == "" || pathOf(own) != pathOf(v.baseURL)) {
		second = v.baseURL + "/v1"
	}
	return wire.NewRoute(v.baseURL, second, m)
}

func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "" // impossible: Validate has seen it
	}
	return u.Path
}

// url returns where to send a request of a format, "chat/completions" or
// "responses".
func (c *call) url(format string) string {
	m := c.model
	base, version := m.vendor.baseURL, m.spec.APIVersion
	switch {
	case !m.vendor.azure:
		c.base = m.route.URL()
		return c.base + "/" + format
	case version == "":
		if base = strings.TrimSuffix(base, "/openai/v1"); !strings.HasSuffix(base, "/openai") {
			base += "/openai"
		}
		return base + "/v1/" + format
	case format == "responses":
		return strings.TrimSuffix(base, "/openai") + "/openai/responses?api-version=" + version
	}
	return strings.TrimSuffix(base, "/openai") + "/openai/deployments/" + m.spec.Model + "/" + format + "?api-version=" + version
}

// reasoning are OpenAI's models that think before they answer, unless they are
// made for chat.
var reasoning = regexp.MustCompile(`^(?:o[1-9]|gpt-(?:[5-9]|[1-9]\d)|codex)`)

// reasons says whether the model is known to reason, by its name.
func (m *model) reasons() bool {
	name := cmp.Or(m.spec.Family, m.spec.Model)
	return m.vendor.openai && reasoning.MatchString(name) && !strings.Contains(name, "-chat")
}

// wantsResponses says whether the model is called by Responses from the start.
func (m *model) wantsResponses() bool {
	if m.spec.API != "" {
		return m.spec.API == "responses"
	}
	own := m.spec.APIVersion == "" && ownHost(m.vendor.baseURL)
	return m.memory.Knows("chat completions") || own && m.reasons()
}
