package langchain

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/convene-go/convene/providers"
)

// vendor is how one provider differs from the others.
type vendor struct {
	dialect      dialect
	baseURL      string // "": it has to be given
	needsKey     bool
	azure        bool                                        // the deployment and the API's version are in the URL
	maxTokens    string                                      // the field for the longest answer
	typed        func(m *model, req providers.Request) typed // how it holds an answer to a schema
	extras       bool                                        // it wants to see again what ToolCall.Extra holds
	unsigned     string                                      // JSON: Extra of calls that another vendor made; "": none
	thoughtsLeft bool                                        // its count of output leaves reasoning out
}

// vendors are the providers that are known by name.
var vendors = map[string]vendor{
	providers.Anthropic: {
		dialect: claude{}, baseURL: "https://api.anthropic.com/v1", needsKey: true,
		maxTokens: "max_tokens", typed: typedClaude, extras: true,
	},
	providers.Azure: {
		dialect: chat{}, needsKey: true, azure: true,
		maxTokens: "max_completion_tokens", typed: typedStrict,
	},
	providers.GLM: {
		dialect: chat{}, baseURL: "https://api.z.ai/api/paas/v4", needsKey: true,
		maxTokens: "max_tokens", typed: typedObject,
	},
	providers.Google: {
		dialect: chat{}, baseURL: "https://generativelanguage.googleapis.com/v1beta/openai", needsKey: true,
		maxTokens: "max_tokens", typed: typedGemini, extras: true, thoughtsLeft: true,
		unsigned: `{"google":{"thought_signature":"skip_thought_signature_validator"}}`,
	},
	providers.Ollama: {
		dialect: chat{}, baseURL: "http://localhost:11434/v1",
		maxTokens: "max_tokens", typed: typedWithoutTools,
	},
	providers.OpenAI: {
		dialect: chat{}, baseURL: "https://api.openai.com/v1", needsKey: true,
		maxTokens: "max_completion_tokens", typed: typedStrict,
	},
}

// compatible is every other server that speaks OpenAI's chat completions.
var compatible = vendor{dialect: chat{}, maxTokens: "max_tokens", typed: typedPlain, extras: true}

// azureVersion is the newest stable version of Azure's API with deployments in
// the URL. It has JSON Schema answers and usage in streams.
const azureVersion = "2024-10-21"

func vendorOf(s providers.Spec) (vendor, error) {
	v, known := vendors[s.Provider]
	switch {
	case known:
	case s.Provider == providers.Bedrock:
		return vendor{}, errors.New("bedrock's models are opened by package providers/bedrock")
	case s.BaseURL == "":
		return vendor{}, fmt.Errorf("%w %q, known: %s, and any with a baseURL",
			providers.ErrUnknownProvider, s.Provider, strings.Join(slices.Sorted(maps.Keys(vendors)), ", "))
	default:
		v = compatible
	}
	if s.BaseURL != "" {
		v.baseURL = s.BaseURL
	}
	return v, v.check(s)
}

var (
	versionOfAzure = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-preview)?$`)
	deployment     = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
)

// check returns every fault of what s says to v alone joined into one error, or
// nil. On Azure model and version become parts of the URL.
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
		bad("apiVersion is %q, want a date such as %q", s.APIVersion, azureVersion)
	}
	if s.Region != "" {
		bad("region is %q, which bedrock alone has", s.Region)
	}
	return errors.Join(errs...)
}

func (v vendor) checkKey(provider, key string) error {
	if key == "" && v.needsKey {
		return fmt.Errorf("no key for provider %q in Keys", provider)
	}
	if strings.ContainsFunc(key, notInKey) {
		return fmt.Errorf("the key for provider %q holds white space or a character that no key has", provider)
	}
	return nil
}
