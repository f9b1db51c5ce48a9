package providers_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

func TestParseSpec(t *testing.T) {
	tests := []struct {
		text string
		want providers.Spec
		err  string // part of it; "": none
	}{
		{text: "openai:gpt-4o-mini", want: providers.Spec{Provider: "openai", Model: "gpt-4o-mini"}},
		{text: "ollama:llama3:8b", want: providers.Spec{Provider: "ollama", Model: "llama3:8b"}},
		{text: "corp:team/model@2", want: providers.Spec{Provider: "corp", Model: "team/model@2"}},
		{text: "", err: "model is empty"},
		{text: "gpt-4o", err: `"gpt-4o" has no colon`},
		{text: ":gpt-4o", err: "provider is empty"},
		{text: "openai:", err: "model name is empty"},
		{text: ":", err: "model name is empty"},
		{text: " openai:x", err: "white space"},
		{text: "openai: x", err: "white space"},
		{text: "openai:x\n", err: "control character"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := providers.ParseSpec(tt.text)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.text, got.String())
		})
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"openai:gpt-4o", "ollama:llama3:8b", ":", "a:\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := providers.ParseSpec(text)
		if err == nil && s.String() != text {
			t.Errorf("ParseSpec(%q).String() = %q", text, s)
		}
	})
}

func TestSpecValidateNamesAllFaults(t *testing.T) {
	s := providers.Spec{
		Provider: "a:b", Temperature: new(2.5), MaxTokens: -1, Timeout: "soon", BaseURL: "localhost:8000",
		Price: &providers.Price{Input: -1, Output: 1_000_001 * providers.USD, CacheWrite: -2},
	}
	err := s.Validate()
	require.Error(t, err)
	want := []string{
		`provider "a:b" holds a colon, white space or a control character`,
		"model name is empty",
		"baseURL is not an absolute http or https URL",
		"temperature is 2.5, want 0 to 2",
		"maxTokens is -1, want 0 or more",
		`timeout is "soon", want a duration above 0 such as "90s"`,
		"price.input is -0.000000001 USD, want 0 to 1000000",
		"price.output is 1000001 USD, want 0 to 1000000",
		"price.cacheWrite is -0.000000002 USD, want 0 to 1000000",
	}
	assert.Equal(t, want, strings.Split(err.Error(), "\n"))
}

func TestSpecValidateOneField(t *testing.T) {
	ok := providers.Spec{Provider: "p", Model: "m"}
	tests := []struct {
		name   string
		change func(*providers.Spec)
		err    string // "": none
	}{
		{"nothing", func(*providers.Spec) {}, ""},
		{"coldest", func(s *providers.Spec) { s.Temperature = new(0.0) }, ""},
		{"hottest", func(s *providers.Spec) { s.Temperature = new(2.0) }, ""},
		{"below zero", func(s *providers.Spec) { s.Temperature = new(-0.1) }, "temperature"},
		{"NaN", func(s *providers.Spec) { s.Temperature = new(math.NaN()) }, "temperature"},
		{"timeout", func(s *providers.Spec) { s.Timeout = "1m30s" }, ""},
		{"timeout without unit", func(s *providers.Spec) { s.Timeout = "90" }, "timeout"},
		{"timeout of nothing", func(s *providers.Spec) { s.Timeout = "0s" }, "timeout"},
		{"free", func(s *providers.Spec) { s.Price = &providers.Price{} }, ""},
		{"URL", func(s *providers.Spec) { s.BaseURL = "http://localhost:8000/v1" }, ""},
		{"URL scheme", func(s *providers.Spec) { s.BaseURL = "ftp://host/v1" }, "baseURL"},
		{"URL query", func(s *providers.Spec) { s.BaseURL = "https://host/v1?key=abc" }, "query"},
		{"region", func(s *providers.Spec) { s.Region = "eu-central-1" }, ""},
		{"region that leads elsewhere", func(s *providers.Spec) { s.Region = "x.evil.com/#" }, "region"},
		{"API version", func(s *providers.Spec) { s.APIVersion = "2025-03-01-preview" }, ""},
		{"API version that adds to the query", func(s *providers.Spec) { s.APIVersion = "v1&x=y" }, "apiVersion"},
		{"URL password", func(s *providers.Spec) { s.BaseURL = "https://u:hunter2@host/v1" }, "password"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := ok
			tt.change(&s)
			err := s.Validate()
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.err)
			assert.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestSpecIsPlainJSON(t *testing.T) {
	text := `{"provider":"p","model":"m","baseURL":"http://h/v1","temperature":0,"maxTokens":9,"timeout":"90s",` +
		`"price":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}}`
	var s providers.Spec
	require.NoError(t, json.Unmarshal([]byte(text), &s))
	data, err := json.Marshal(s)
	require.NoError(t, err)
	assert.JSONEq(t, text, string(data))

	require.NoError(t, json.Unmarshal([]byte(`"ollama:llama3:8b"`), &s))
	assert.Equal(t, providers.Spec{Provider: "ollama", Model: "llama3:8b"}, s, "by its name")
	require.ErrorContains(t, json.Unmarshal([]byte(`{"provider": "p", "name": "m"}`), &s), `unknown field "name"`)
	require.ErrorContains(t, json.Unmarshal([]byte(`"gpt-4o"`), &s), "has no colon")
	assert.Equal(t, "llama3:8b", s.Model, "a fault changes nothing")
}
