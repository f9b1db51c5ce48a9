package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

const configJSON = `{
	"roles": {"director": ["corp:large", "openai:gpt-4o"], "worker": [{"provider": "corp", "model": "small", "price": {}}]},
	"limits": {"corp": {"parallel": 8, "perMinute": 600}, "anthropic": {"parallel": 1}},
	"prices": {"corp:large": {"input": 1.5, "output": 6, "date": "2026-11-01", "source": "contract"}},
	"total": "5m"
}`

func TestConfigJSON(t *testing.T) {
	var c, back providers.Config
	require.NoError(t, json.Unmarshal([]byte(configJSON), &c))
	require.NoError(t, c.Validate("corp"))
	assert.Equal(t, providers.Config{
		Roles: providers.RoleConfig{
			"director": {spec("corp:large"), spec("openai:gpt-4o")},
			"worker":   {{Provider: "corp", Model: "small", Price: &providers.Price{}}},
		},
		Limits: map[string]providers.Limit{"corp": {Parallel: 8, PerMinute: 600}, "anthropic": {Parallel: 1}},
		Prices: providers.Prices{"corp:large": {Input: 1_500_000_000, Output: 6 * providers.USD}},
		Total:  "5m",
	}, c)
	data, err := json.Marshal(c)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, c, back)

	for text, want := range map[string]string{
		`{"role": {}}`:                        `unknown field "role"`,
		`{"limits": {"p": {"perSecond": 1}}}`: `unknown field "perSecond"`,
		`{"prices": {"p:m": {"in": 1}}}`:      `prices of "p:m": price: json: unknown field "in"`,
		`{"roles": {"a": ["p"]}}`:             `role "a", model 1`,
		`[]`:                                  "cannot unmarshal array",
	} {
		require.ErrorContains(t, json.Unmarshal([]byte(text), &c), want, text)
	}
}

func TestConfigFaults(t *testing.T) {
	c := providers.Config{
		Roles: providers.RoleConfig{"a": {spec("p:m"), spec("p:m")}},
		Limits: map[string]providers.Limit{
			"opnai": {}, "openai": {}, "p": {Parallel: -1, PerMinute: 1_000_001},
		},
		Prices: providers.Prices{"m": {}, "p:m": {Output: -providers.USD}},
		Total:  "soon",
	}
	want := []string{
		`role "a", model 2 (p:m): it is model 1 again: a fallback must not lead back`,
		`limits of "opnai": unknown provider "opnai", known: anthropic, azure, bedrock, deepseek, glm, google, ollama, openai, openrouter, p`,
		`limits of "p": parallel is -1, want 0 or more`,
		`perMinute is 1000001, want 0 to 1000000`,
		`prices of "m": providers: model "m" has no colon, want "provider:model"`,
		`prices of "p:m": price.output is -1 USD, want 0 to 1000000`,
		`total is "soon", want a duration above 0 such as "5m"`,
	}
	err := c.Validate("p")
	require.ErrorIs(t, err, providers.ErrUnknownProvider)
	assert.Equal(t, want, strings.Split(err.Error(), "\n"))

	_, err = c.Open(nameOf)
	require.ErrorIs(t, err, providers.ErrUnknownProvider)
	assert.Equal(t, "providers: "+strings.Join(want, "\n"), err.Error())
}

func TestConfigTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		roles, err := providers.Config{Roles: providers.RoleConfig{"a": {spec("p:m")}}, Total: "90s"}.
			Open(opener{"p:m": fake.New(t, fake.Hang())}.open)
		require.NoError(t, err)
		m, err := roles.Model("a")
		require.NoError(t, err)
		start := time.Now()
		_, err = m.Generate(t.Context(), hi)
		require.ErrorIs(t, err, providers.Transient)
		assert.Equal(t, 90*time.Second, time.Since(start))
	})
}

func TestConfigPrices(t *testing.T) {
	const million = 1_000_000
	tests := []struct {
		name string
		spec providers.Spec
		list providers.Prices
		want providers.Usage // of a million tokens in
	}{
		{"the Spec's own", providers.Spec{Provider: "openai", Model: "gpt-4o", Price: &price}, providers.Prices{"openai:gpt-4o": {Input: 7}}, providers.Usage{Cost: price.Input}},
		{"the host's list", spec("openai:gpt-4o"), providers.Prices{"openai:gpt-4o": {Input: 7}}, providers.Usage{Cost: 7}},
		{"the host's list, elsewhere", providers.Spec{Provider: "openai", Model: "gpt-4o", BaseURL: "https://h/v1"}, providers.Prices{"openai:gpt-4o": {Input: 7}}, providers.Usage{Cost: 7}},
		{"the built-in list", spec("openai:gpt-4o"), nil, providers.Usage{Cost: 2_500_000_000}},
		{"not the built-in one elsewhere", providers.Spec{Provider: "openai", Model: "gpt-4o", BaseURL: "https://h/v1"}, nil, providers.Usage{Unpriced: 1}},
		{"unknown", spec("openai:gpt-4o-audio"), nil, providers.Usage{Unpriced: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen := providers.Spec{}
			roles, err := providers.Config{Roles: providers.RoleConfig{"a": {tt.spec}}, Prices: tt.list}.
				Open(func(s providers.Spec) (providers.Model, error) {
					seen = s
					return answering(providers.Usage{Input: million}), nil
				})
			require.NoError(t, err)
			m, err := roles.Model("a")
			require.NoError(t, err)
			resp, err := m.Generate(t.Context(), hi)
			require.NoError(t, err)
			tt.want.Calls, tt.want.Input = 1, million
			assert.Equal(t, tt.want, resp.Usage)
			assert.Equal(t, tt.want.Unpriced == 0, m.(providers.Priced).Priced())
			got, known := seen.KnownPrice()
			assert.Equal(t, tt.want.Unpriced == 0, known, "the opener knows it too")
			assert.Equal(t, tt.want.Cost, got.Input)
		})
	}
}

func TestOpeners(t *testing.T) {
	named := func(name string) func(providers.Spec) (providers.Model, error) {
		return func(providers.Spec) (providers.Model, error) {
			return providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
				return providers.Response{Model: name}, nil
			}), nil
		}
	}
	who := func(o providers.Openers, provider string) string {
		m, err := o.Open(providers.Spec{Provider: provider, Model: "m"})
		require.NoError(t, err)
		resp, err := m.Generate(t.Context(), hi)
		require.NoError(t, err)
		return resp.Model
	}
	o := providers.Openers{"bedrock": named("bedrock"), "openai": named("openai")}
	assert.Equal(t, "bedrock", who(o, "bedrock"))
	assert.Equal(t, "openai", who(o, "openai"))

	t.Run("BA114 provider acme", func(t *testing.T) {
		_, err := o.Open(providers.Spec{Provider: "acme", Model: "m"})
		require.ErrorIs(t, err, providers.ErrUnknownProvider)
		require.EqualError(t, err, `unknown provider "acme", known: bedrock, openai`)
		_, err = providers.NewRoles(providers.RoleConfig{"a": {spec("acme:m")}}, o.Open)
		require.ErrorIs(t, err, providers.ErrUnknownProvider)
		require.EqualError(t, err, `providers: role "a", model 1 (acme:m): unknown provider "acme", known: bedrock, openai`)
	})

	o[""] = named("others")
	assert.Equal(t, "others", who(o, "acme"))
	assert.Equal(t, "bedrock", who(o, "bedrock"))

	failed := errors.New("no key")
	o["glm"] = func(providers.Spec) (providers.Model, error) { return nil, failed }
	_, err := o.Open(providers.Spec{Provider: "glm", Model: "m"})
	assert.Equal(t, failed, err)
	_, err = providers.Openers{"p": nil}.Open(spec("p:m"))
	require.ErrorIs(t, err, providers.ErrUnknownProvider)
}
