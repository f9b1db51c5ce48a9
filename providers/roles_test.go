package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// opener opens the models it is made of, by provider:model.
type opener map[string]providers.Model

func (o opener) open(s providers.Spec) (providers.Model, error) {
	m, ok := o[s.String()]
	if !ok {
		return nil, errors.New("no such model")
	}
	return m, nil
}

func spec(text string) providers.Spec {
	s, err := providers.ParseSpec(text)
	if err != nil {
		panic(err)
	}
	return s
}

func TestRolesFromJSON(t *testing.T) {
	var c providers.RoleConfig
	require.NoError(t, json.Unmarshal([]byte(`{
		"writer": [{"provider": "p", "model": "big", "maxTokens": 9, "price": {"input": 2, "output": 4}}, {"provider": "p", "model": "small"}]
	}`), &c))
	big, small := fake.New(t, limited(time.Minute)), fake.New(t, fake.Answer{Text: "ok", Model: "p:small"})
	roles, err := providers.NewRoles(c, opener{"p:big": big, "p:small": small}.open)
	require.NoError(t, err)
	m, err := roles.Model("writer")
	require.NoError(t, err)
	assert.False(t, m.(providers.Priced).Priced(), "small has no price")

	resp, err := m.Generate(t.Context(), hi)
	require.NoError(t, err)
	assert.Equal(t, "p:small", resp.Model)
	assert.Equal(t, providers.Usage{Calls: 2, Input: 1, Cost: 2000, Fallbacks: 1, Unpriced: 1}, resp.Usage)
	assert.Equal(t, 9, big.Requests()[0].MaxTokens)
}

func TestRolesUnknownRole(t *testing.T) {
	c := providers.RoleConfig{"b": {spec("p:m")}, "a": {spec("p:m")}}
	roles, err := providers.NewRoles(c, opener{"p:m": fake.New(t)}.open)
	require.NoError(t, err)
	_, err = roles.Model("c")
	require.EqualError(t, err, `providers: unknown role "c", known: a, b`)
}

func TestRolesOpenEqualSpecsOnce(t *testing.T) {
	cold := spec("p:m")
	cold.Temperature, cold.Price = new(0.0), &price
	opened := 0
	open := func(providers.Spec) (providers.Model, error) {
		opened++
		return fake.New(nil), nil
	}
	again := cold
	again.Temperature, again.Price = new(0.0), new(price)
	_, err := providers.NewRoles(providers.RoleConfig{"a": {spec("p:m")}, "b": {cold}, "c": {again}, "d": {spec("p:m")}}, open)
	require.NoError(t, err)
	assert.Equal(t, 2, opened)
}

func TestRolesShareCoolDown(t *testing.T) {
	m := fake.New(t, limited(time.Minute))
	cold := spec("p:m")
	cold.Temperature = new(0.0)
	roles, err := providers.NewRoles(providers.RoleConfig{"a": {spec("p:m")}, "b": {cold}}, opener{"p:m": m}.open)
	require.NoError(t, err)
	for _, role := range []string{"a", "b"} {
		chain, err := roles.Model(role)
		require.NoError(t, err)
		_, err = chain.Generate(t.Context(), hi)
		require.ErrorContains(t, err, "rate-limited")
	}
	assert.Len(t, m.Requests(), 1, "role b knows that p:m is limited")
}

// Another region or server has a rate limit of its own.
func TestRolesDoNotShareCoolDownOfOthers(t *testing.T) {
	asked := 0
	open := func(providers.Spec) (providers.Model, error) {
		return providers.ModelFunc(func(context.Context, providers.Request) (providers.Response, error) {
			asked++
			return providers.Response{}, limited(time.Minute).Err
		}), nil
	}
	c := providers.RoleConfig{
		"a": {{Provider: "p", Model: "m"}}, "b": {{Provider: "p", Model: "n"}}, "c": {{Provider: "q", Model: "m"}},
		"d": {{Provider: "p", Model: "m", Region: "eu"}}, "e": {{Provider: "p", Model: "m", BaseURL: "http://h"}},
	}
	roles, err := providers.NewRoles(c, open)
	require.NoError(t, err)
	for role := range c {
		m, err := roles.Model(role)
		require.NoError(t, err)
		_, err = m.Generate(t.Context(), hi)
		require.ErrorIs(t, err, providers.RateLimited)
	}
	assert.Equal(t, 5, asked)
}

func TestRolesAllFaultsInOneError(t *testing.T) {
	hot := spec("p:m")
	hot.Temperature = new(3.0)
	c := providers.RoleConfig{"": {spec("p:m")}, "empty": nil, "hot": {spec("p:n"), hot}, "none": {spec("x:y")}}
	_, err := providers.NewRoles(c, opener{"p:m": fake.New(t), "p:n": fake.New(t)}.open)
	require.Error(t, err)
	assert.Equal(t, []string{
		"providers: a role has no name",
		`role "empty" has no models`,
		`role "hot", model 2 (p:m): temperature is 3, want 0 to 2`,
		`role "none", model 1 (x:y): no such model`,
	}, strings.Split(err.Error(), "\n"))
}

func TestRolesNothingToOpen(t *testing.T) {
	_, err := providers.NewRoles(nil, opener{}.open)
	require.EqualError(t, err, "providers: no roles")
	_, err = providers.NewRoles(providers.RoleConfig{"a": nil}, nil)
	require.EqualError(t, err, "providers: open is nil")
	_, err = providers.NewRoles(providers.RoleConfig{"a": {spec("p:m")}}, opener{"p:m": nil}.open)
	require.ErrorContains(t, err, "open returned no model")
}

func TestRolesCopyTheirConfig(t *testing.T) {
	m := fake.New(t, fake.Text("ok"))
	s := spec("p:m")
	s.Temperature = new(0.5)
	c := providers.RoleConfig{"a": {s}}
	roles, err := providers.NewRoles(c, func(s providers.Spec) (providers.Model, error) {
		*s.Temperature = 1.5
		return m, nil
	})
	require.NoError(t, err)
	*c["a"][0].Temperature = 2
	c["a"][0].MaxTokens = 7
	chain, err := roles.Model("a")
	require.NoError(t, err)
	_, err = chain.Generate(t.Context(), hi)
	require.NoError(t, err)
	assert.InDelta(t, 0.5, *m.Requests()[0].Temperature, 0)
	assert.Zero(t, m.Requests()[0].MaxTokens)
}

// What a call through roles, a chain, a limit and the meter costs.
func BenchmarkRolesCall(b *testing.B) {
	c := providers.Config{
		Roles:  providers.RoleConfig{"a": {spec("openai:gpt-4o"), spec("p:m")}},
		Limits: map[string]providers.Limit{"openai": {Parallel: 8}},
	}
	roles, err := c.Open(func(providers.Spec) (providers.Model, error) {
		return answering(providers.Usage{Input: 9, Output: 9}), nil
	})
	require.NoError(b, err)
	m, err := roles.Model("a")
	require.NoError(b, err)
	ctx := providers.WithKey(b.Context(), "run/0:1")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Generate(ctx, hi); err != nil {
			b.Fatal(err)
		}
	}
}
