package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/anthropic"
	"github.com/convene-go/convene/providers/internal/network"
	"github.com/convene-go/convene/providers/openai"
)

func TestOpenFaults(t *testing.T) {
	pasted := providers.Keys{"pasted": secret + "\n"}
	tests := []struct {
		name   string
		opener opener
		spec   providers.Spec
		want   string
	}{
		{"unknown provider", opener{}, providers.Spec{Provider: "opnai", Model: "m"}, `open opnai:m: unknown provider "opnai", known: azure, deepseek, glm, google, ollama, openai, openrouter, and any with a baseURL`},
		{"bedrock", opener{}, providers.Spec{Provider: "bedrock", Model: "m", BaseURL: "http://h"}, "package providers/bedrock"},
		{"no key", opener{}, providers.Spec{Provider: "openai", Model: "m"}, `no key for provider "openai"`},
		{"no key of anthropic", opener{}, providers.Spec{Provider: "anthropic", Model: "m"}, `no key for provider "anthropic"`},
		{"no key of google", opener{}, providers.Spec{Provider: "google", Model: "m"}, `no key for provider "google"`},
		{"no key of glm", opener{}, providers.Spec{Provider: "glm", Model: "m"}, `no key for provider "glm"`},
		{"no key of azure", opener{}, providers.Spec{Provider: "azure", Model: "m", BaseURL: "http://h"}, `no key for provider "azure"`},
		{"key of a file", opener{Keys: pasted}, providers.Spec{Provider: "pasted", Model: "m", BaseURL: "http://h"}, `the key for provider "pasted" holds white space`},
		{"key for a model", opener{Keys: keys}, providers.Spec{Provider: "opnai", Model: secret}, "open opnai:[redacted]"},
		{"no model", opener{Keys: keys}, providers.Spec{Provider: "openai"}, "model name is empty"},
		{"spec", opener{Keys: keys}, providers.Spec{Provider: "openai", Model: "m", Timeout: "x"}, "timeout is"},
		{"limit", opener{Keys: keys, MaxBody: -1}, providers.Spec{Provider: "openai", Model: "m"}, "MaxBody is -1"},
		{"no resource", opener{Keys: keys}, providers.Spec{Provider: "azure", Model: "m"}, "baseURL is empty, want that of the resource"},
		{"no deployment", opener{Keys: keys}, providers.Spec{Provider: "azure", Model: "a/../b?x=1", BaseURL: "http://h"}, "is no name of a deployment"},
		{"no version", opener{Keys: keys}, providers.Spec{Provider: "azure", Model: "m", BaseURL: "http://h", APIVersion: "2024"}, `apiVersion is "2024", want a date such as "2025-04-01-preview", or nothing for the v1 API`},
		{"version of another", opener{Keys: keys}, providers.Spec{Provider: "openai", Model: "m", APIVersion: "2024-10-21"}, "azure alone"},
		{"region", opener{Keys: keys}, providers.Spec{Provider: "openai", Model: "m", Region: "eu-west-1"}, "bedrock alone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.opener.Open(tt.spec)
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), secret)
		})
	}
}

func TestBlockedNetwork(t *testing.T) {
	s := serve(t, reply(200, vendors[0].body(hello)))
	end := (&network.Block{Owner: "TestBlockedNetwork"}).Start()
	defer end()
	_, err := open(t, vendors[0].spec(s)).Generate(t.Context(), hi)
	require.ErrorIs(t, err, network.ErrBlocked)
	assert.Equal(t, providers.Permanent, fault(t, err).Kind)
	assert.Zero(t, s.hits())
}

func TestUnknownProvider(t *testing.T) {
	_, err := opener{Keys: keys}.Open(providers.Spec{Provider: "acme", Model: "m"})
	require.ErrorIs(t, err, providers.ErrUnknownProvider)
}

func TestOpenFindsAllFaults(t *testing.T) {
	_, err := opener{Keys: keys}.Open(providers.Spec{Provider: "azure", Model: "a?", APIVersion: "x", Region: "r"})
	for _, want := range []string{"baseURL", "deployment", "apiVersion", "region"} {
		require.ErrorContains(t, err, want)
	}
}

func TestAzure(t *testing.T) {
	v := vendors[1]
	tests := []struct{ base, version, api, want string }{
		{"", "", "", "/openai/v1/chat/completions"},
		{"/openai", "", "", "/openai/v1/chat/completions"},
		{"/openai/v1/", "", "responses", "/openai/v1/responses"},
		{"", "2025-04-01-preview", "", "/openai/deployments/deployed/chat/completions?api-version=2025-04-01-preview"},
		{"/openai", "2024-10-21", "", "/openai/deployments/deployed/chat/completions?api-version=2024-10-21"},
		{"", "2025-04-01-preview", "responses", "/openai/responses?api-version=2025-04-01-preview"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			v := v
			v.responses = tt.api == "responses"
			s, spec := v.serve(t, reply(200, v.body(hello)))
			spec.BaseURL, spec.APIVersion = spec.BaseURL+tt.base, tt.version
			_, err := open(t, spec).Generate(t.Context(), hi)
			require.NoError(t, err)
			assert.Equal(t, []string{tt.want}, s.urls)
		})
	}
}

// A token stands where a key would be, asked for before each call.
func TestTokens(t *testing.T) {
	const first = "eyJ0b2tlbi1vZi1hbi1pZGVudGl0eQ"
	s := serve(t, reply(401, vendors[1].failure(401, unknown, "bad token "+first)))
	asked := 0
	o := openai.Opener{Tokens: map[string]func(context.Context) (string, error){"azure": func(context.Context) (string, error) {
		if asked++; asked > 2 {
			return "", errors.New("no identity")
		}
		return first, nil
	}}}
	m, err := o.Open(vendors[1].spec(s))
	require.NoError(t, err)
	for range 2 {
		_, err = m.Generate(t.Context(), hi)
		e := fault(t, err)
		assert.NotContains(t, e.Message, first)
		assert.Equal(t, providers.Unauthorized, e.Reason)
	}
	assert.Equal(t, "Bearer "+first, s.headers[1].Get("Authorization"))
	_, err = m.Generate(t.Context(), hi)
	assert.Equal(t, providers.Permanent, fault(t, err).Kind)
	assert.ErrorContains(t, err, "no identity")
	assert.Equal(t, 2, s.hits())
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v %d", o, o, o, o), first)
}

// Headers of the host are sent, and what of them is secret is in no error.
func TestHeaders(t *testing.T) {
	const hidden = "gateway-password-1"
	s := serve(t, reply(403, "no: "+hidden))
	h := http.Header{"X-Gateway-Token": {hidden}, "X-Team": {"blue"}}
	o := openai.Opener{Header: h}
	m, err := o.Open(providers.Spec{Provider: "corp", Model: "m", BaseURL: s.URL})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), hi)
	assert.NotContains(t, fault(t, err).Message, hidden)
	assert.Equal(t, hidden, s.headers[0].Get("X-Gateway-Token"))
	assert.Equal(t, "blue", s.headers[0].Get("X-Team"))
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v %d", o, o, o, o), hidden)
	data, err := json.Marshal(o)
	require.NoError(t, err)
	assert.NotContains(t, string(data), hidden)
}

// seenTransport notes where requests go, and sends none.
type seenTransport struct{ urls []string }

func (s *seenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	s.urls = append(s.urls, r.URL.String())
	return nil, errors.New("not sent")
}

func TestOwnAddresses(t *testing.T) {
	for provider, want := range map[string]string{
		"openai":    "https://api.openai.com/v1/chat/completions",
		"anthropic": "https://api.anthropic.com/v1/messages",
		"google":    "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
		"glm":       "https://api.z.ai/api/paas/v4/chat/completions",
		"ollama":    "http://localhost:11434/v1/chat/completions",
	} {
		t.Run(provider, func(t *testing.T) {
			seen := &seenTransport{}
			m, err := opener{Keys: keys, Transport: seen}.Open(providers.Spec{Provider: provider, Model: "m"})
			require.NoError(t, err)
			_, err = m.Generate(t.Context(), hi)
			fault(t, err)
			assert.Equal(t, []string{want}, seen.urls)
		})
	}
}

func TestOpenReadsNoEnvironment(t *testing.T) {
	elsewhere := serve(t, reply(200, "{}"))
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"} {
		t.Setenv(name, "sk-from-the-environment")
	}
	for _, name := range []string{"OPENAI_BASE_URL", "OPENAI_API_BASE", "HTTP_PROXY", "HTTPS_PROXY"} {
		t.Setenv(name, elsewhere.URL)
	}
	t.Setenv("OPENAI_MODEL", "other")
	t.Setenv("OPENAI_ORGANIZATION", "org")
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			s, spec := v.serve(t, reply(200, v.body(hello)))
			if v.header != "" && v.name != "corp" {
				_, err := opener{Keys: nil}.Open(spec)
				require.ErrorContains(t, err, "no key")
			}
			_, err := open(t, spec).Generate(t.Context(), hi)
			require.NoError(t, err)
			assert.Equal(t, v.model, s.sent(t)["model"])
			if v.header != "" {
				assert.Contains(t, s.headers[0].Get(v.header), secret)
			}
			assert.Empty(t, s.headers[0].Get("OpenAI-Organization"))
		})
	}
	assert.Zero(t, elsewhere.hits())
}

func TestKeysAreNotPrinted(t *testing.T) {
	o := opener{Keys: keys}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q", "%t"} {
		assert.NotContains(t, fmt.Sprintf(format, openai.Opener{Keys: o.Keys}), secret, format)
		assert.NotContains(t, fmt.Sprintf(format, anthropic.Opener{Keys: o.Keys}), secret, format)
		assert.Contains(t, fmt.Sprintf(format, o.Keys), "keys of anthropic, azure, corp", format)
	}
	data, err := json.Marshal(o.Keys)
	require.NoError(t, err)
	assert.JSONEq(t, `"keys of anthropic, azure, corp, deepseek, glm, google, openai, openrouter"`, string(data))
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("opened", "keys", o.Keys, "opener", o)
	slog.New(slog.NewTextHandler(&log, nil)).Info("opened", "keys", o.Keys, "opener", o)
	assert.NotContains(t, log.String(), secret)
	for _, v := range vendors {
		t.Run(v.name, func(t *testing.T) {
			m := open(t, providers.Spec{Provider: v.name, Model: v.model, BaseURL: "http://h"}).(providers.Metered)
			for _, format := range []string{"%v", "%+v", "%#v", "%d", "%x", "%t"} {
				assert.NotContains(t, fmt.Sprintf(format, m), secret, format)
				assert.NotContains(t, fmt.Sprintf(format, m.Model), secret, format)
			}
		})
	}
}

func TestOpenKeepsACopyOfKeys(t *testing.T) {
	for name, open := range map[string]func(providers.Keys) func(providers.Spec) (providers.Model, error){"openai": openai.Open, "anthropic": anthropic.Open} {
		mine := providers.Keys{name: secret}
		openModel := open(mine)
		delete(mine, name)
		_, err := openModel(providers.Spec{Provider: name, Model: "m"})
		require.NoError(t, err)
	}
}

// A chain goes from every vendor to every other one, in the middle of a
// conversation with tools.
func TestRolesOverLangchain(t *testing.T) {
	for _, from := range vendors {
		t.Run(from.name, func(t *testing.T) {
			for _, to := range vendors {
				if to.name == from.name {
					continue
				}
				busy, first := from.serve(t, reply(429, from.failure(429, limited, "slow down"), "Retry-After", "60"))
				free, second := to.serve(t, reply(200, to.body(hello)))
				second.Price = &providers.Price{}
				roles, err := providers.NewRoles(providers.RoleConfig{"writer": {first, second}}, opener{Keys: keys}.Open)
				require.NoError(t, err)
				writer, err := roles.Model("writer")
				require.NoError(t, err)
				req := hi
				req.Tools = []providers.Tool{clock}
				req.Messages = append(req.Messages[:2:2],
					providers.Message{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "c", Name: "clock"}}},
					providers.Message{Role: providers.ToolRole, ToolID: "c", Text: "noon"})
				for range 3 {
					resp, err := writer.Generate(t.Context(), req)
					require.NoError(t, err)
					assert.Equal(t, second.String(), resp.Model)
					assert.Equal(t, int64(1), resp.Usage.Calls)
					assert.Zero(t, resp.Usage.Unpriced)
				}
				assert.Equal(t, 1, busy.hits())
				assert.Equal(t, 3, free.hits())
			}
		})
	}
}
