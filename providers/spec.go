package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// Spec names one model in a configuration. In JSON it may also be a text that
// [ParseSpec] reads.
type Spec struct {
	Provider    string   `json:"provider"`              // name of the provider, as in [ParseSpec]
	Model       string   `json:"model"`                 // name of the model, as the provider has it
	Family      string   `json:"family,omitempty"`      // the model's name where Model hides it: a deployment on azure, a profile of bedrock
	BaseURL     string   `json:"baseURL,omitempty"`     // URL of the service; "": the provider's own
	API         string   `json:"api,omitempty"`         // format of OpenAI's servers, "chat" or "responses"; "": chosen by the model
	APIVersion  string   `json:"apiVersion,omitempty"`  // version of Azure's API, for azure only; "": its v1 API
	Region      string   `json:"region,omitempty"`      // region, for bedrock only; "": the opener's
	Temperature *float64 `json:"temperature,omitempty"` // 0 to 2, in place of the requests' own; nil: theirs
	MaxTokens   int      `json:"maxTokens,omitempty"`   // tokens of the answer, for requests that say none; 0: the model's default
	Window      int      `json:"window,omitempty"`      // tokens that the model takes in one call, its answer included; 0: not known
	Timeout     string   `json:"timeout,omitempty"`     // limit of one attempt, as "90s"; "": none, because the opener limits silence
	Price       *Price   `json:"price,omitempty"`       // nil: see KnownPrice
	Params               // parameters for requests without them, as "effort" or "extra"
}

// ParseSpec reads "provider:model". Everything after the first colon is the
// model's name, so "ollama:llama3:8b" is llama3:8b at ollama. Whether the
// provider exists is checked by the opener.
func ParseSpec(text string) (Spec, error) {
	if text == "" {
		return Spec{}, errors.New(`providers: model is empty, want "provider:model"`)
	}
	provider, model, found := strings.Cut(text, ":")
	if !found {
		return Spec{}, fmt.Errorf(`providers: model %q has no colon, want "provider:model"`, text)
	}
	s := Spec{Provider: provider, Model: model}
	if err := s.Validate(); err != nil {
		return Spec{}, fmt.Errorf("providers: model %q: %w", text, err)
	}
	return s, nil
}

// String returns "provider:model", which [ParseSpec] reads.
func (s Spec) String() string { return s.Provider + ":" + s.Model }

// Validate returns every fault of s joined into one error, or nil.
func (s Spec) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case s.Provider == "":
		bad("provider is empty")
	case strings.ContainsFunc(s.Provider, func(r rune) bool { return r == ':' || notInName(r) }):
		bad("provider %q holds a colon, white space or a control character", s.Provider)
	}
	switch {
	case s.Model == "":
		bad("model name is empty")
	case strings.ContainsFunc(s.Model, notInName):
		bad("model name %q holds white space or a control character", s.Model)
	}
	errs = append(errs, s.checkPlace())
	if t := s.Temperature; t != nil && !(*t >= 0 && *t <= 2) { // NaN is refused too
		bad("temperature is %v, want 0 to 2", *t)
	}
	if s.MaxTokens < 0 {
		bad("maxTokens is %d, want 0 or more", s.MaxTokens)
	}
	if s.Window < 0 {
		bad("window is %d, want 0 or more", s.Window)
	}
	if s.Timeout != "" {
		if d, err := time.ParseDuration(s.Timeout); err != nil || d <= 0 {
			bad(`timeout is %q, want a duration above 0 such as "90s"`, s.Timeout)
		}
	}
	if s.API != "" && s.API != "chat" && s.API != "responses" {
		bad(`api is %q, want "chat" or "responses"`, s.API)
	}
	if s.Price != nil {
		errs = append(errs, s.Price.check())
	}
	errs = append(errs, CheckParams(s.Params))
	return errors.Join(errs...)
}

// checkPlace returns every fault of the fields that say where the model is, and as what.
func (s Spec) checkPlace() error {
	errs := []error{checkBaseURL(s.BaseURL)}
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if strings.ContainsFunc(s.Family, notInName) {
		bad("family %q holds white space or a control character", s.Family)
	}
	if strings.ContainsFunc(s.Region, notInLabel) {
		bad("region %q holds something other than letters, digits and hyphens", s.Region)
	}
	if strings.ContainsFunc(s.APIVersion, notInLabel) {
		bad("apiVersion %q holds something other than letters, digits and hyphens", s.APIVersion)
	}
	return errors.Join(errs...)
}

// checkBaseURL never quotes the URL: it may hold a password.
func checkBaseURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return errors.New(`baseURL is not an absolute http or https URL`)
	case u.User != nil:
		return errors.New("baseURL holds a user or password")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("baseURL holds a query or fragment")
	}
	return nil
}

// clone returns a deep copy of s.
func (s Spec) clone() Spec {
	if s.Temperature != nil {
		s.Temperature = new(*s.Temperature)
	}
	if s.Price != nil {
		s.Price = new(*s.Price)
	}
	s.Params = CloneParams(s.Params)
	return s
}

// UnmarshalJSON reads a model's name or all of its fields, and refuses fields that
// do not exist.
func (s *Spec) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		parsed, err := ParseSpec(text)
		if err == nil {
			*s = parsed
		}
		return err
	}
	type plain Spec
	var in plain
	if err := strict(data, &in); err != nil {
		return err
	}
	*s = Spec(in)
	return nil
}

// notInLabel matches characters that could change the host of a URL that contains a
// region or version.
func notInLabel(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
		return false
	}
	return true
}

func notInName(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
