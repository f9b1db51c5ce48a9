package langchain_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/langchain"
)

func TestOpenFaults(t *testing.T) {
	keys := langchain.Keys{"openai": secret, "pasted": secret + "\n"}
	tests := []struct {
		name   string
		opener langchain.Opener
		spec   providers.Spec
		want   string
	}{
		{"unknown provider", langchain.Opener{}, providers.Spec{Provider: "opnai", Model: "m"}, `open opnai:m: unknown provider "opnai", known: ollama, openai, and any with a baseURL`},
		{"no key", langchain.Opener{}, providers.Spec{Provider: "openai", Model: "m"}, `no key for provider "openai"`},
		{"key of a file", langchain.Opener{Keys: keys}, providers.Spec{Provider: "pasted", Model: "m", BaseURL: "http://h"}, `the key for provider "pasted" holds white space`},
		{"no model", langchain.Opener{Keys: keys}, providers.Spec{Provider: "openai"}, "model name is empty"},
		{"spec", langchain.Opener{Keys: keys}, providers.Spec{Provider: "openai", Model: "m", Timeout: "x"}, "timeout is"},
		{"limit", langchain.Opener{Keys: keys, MaxBody: -1}, providers.Spec{Provider: "openai", Model: "m"}, "MaxBody is -1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.opener.Open(tt.spec)
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), secret)
		})
	}
}

func TestOpenReadsNoEnvironment(t *testing.T) {
	s := serve(t, reply(200, hello))
	elsewhere := serve(t, reply(200, hello))
	t.Setenv("OPENAI_API_KEY", "sk-from-the-environment")
	t.Setenv("OPENAI_MODEL", "other")
	t.Setenv("OPENAI_BASE_URL", elsewhere.URL)
	t.Setenv("OPENAI_ORGANIZATION", "org")
	t.Setenv("HTTP_PROXY", elsewhere.URL)

	_, err := langchain.Open(nil)(providers.Spec{Provider: "openai", Model: "m"})
	require.ErrorContains(t, err, "no key")

	_, err = open(t, providers.Spec{Provider: "corp", Model: "m", BaseURL: s.URL}).Generate(t.Context(), hi)
	require.NoError(t, err)
	assert.Equal(t, "m", s.sent(t)["model"])
	assert.Equal(t, "Bearer "+secret, s.headers[0].Get("Authorization"))
	assert.Empty(t, s.headers[0].Get("OpenAI-Organization"))
	assert.Zero(t, elsewhere.hits())
}

func TestKeysAreNotPrinted(t *testing.T) {
	o := langchain.Opener{Keys: langchain.Keys{"openai": secret, "corp": secret}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		assert.NotContains(t, fmt.Sprintf(format, o), secret, format)
		assert.Contains(t, fmt.Sprintf(format, o.Keys), "keys of corp, openai", format)
	}
}

func TestOpenKeepsACopyOfKeys(t *testing.T) {
	keys := langchain.Keys{"openai": secret}
	openModel := langchain.Open(keys)
	delete(keys, "openai")
	_, err := openModel(providers.Spec{Provider: "openai", Model: "m"})
	require.NoError(t, err)
}

func TestRolesOverLangchain(t *testing.T) {
	busy := serve(t, reply(429, failure("slow down", "x"), "Retry-After", "60"))
	free := serve(t, reply(200, hello))
	roles, err := providers.NewRoles(providers.RoleConfig{"writer": {
		{Provider: "openai", Model: "m", BaseURL: busy.URL},
		{Provider: "ollama", Model: "m", BaseURL: free.URL, Price: &providers.Price{}},
	}}, langchain.Open(langchain.Keys{"openai": secret}))
	require.NoError(t, err)
	writer, err := roles.Model("writer")
	require.NoError(t, err)
	for range 3 {
		resp, err := writer.Generate(t.Context(), hi)
		require.NoError(t, err)
		assert.Equal(t, "ollama:m", resp.Model)
		assert.Equal(t, int64(1), resp.Usage.Calls)
		assert.Zero(t, resp.Usage.Unpriced)
	}
	assert.Equal(t, 1, busy.hits())
	assert.Equal(t, 3, free.hits())
}
