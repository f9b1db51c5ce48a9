package langchain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-go/convene/providers"
)

// vendor is how one provider differs from the others.
type vendor struct {
	baseURL   string
	needsKey  bool
	maxTokens string // the field for the longest answer
}

var vendors = map[string]vendor{
	"openai": {baseURL: "https://api.openai.com/v1", needsKey: true, maxTokens: "max_completion_tokens"},
	"ollama": {baseURL: "http://localhost:11434/v1", maxTokens: "max_tokens"},
}

// compatible is every other server that speaks OpenAI's chat completions.
var compatible = vendor{maxTokens: "max_tokens"}

func vendorOf(s providers.Spec) (vendor, error) {
	v, known := vendors[s.Provider]
	switch {
	case known:
	case s.BaseURL == "":
		return vendor{}, fmt.Errorf("unknown provider %q, known: %s, and any with a baseURL",
			s.Provider, strings.Join(slices.Sorted(maps.Keys(vendors)), ", "))
	default:
		v = compatible
	}
	if s.BaseURL != "" {
		v.baseURL = s.BaseURL
	}
	return v, nil
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
