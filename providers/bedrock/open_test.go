package bedrock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/bedrock"
)

func TestOpenFaults(t *testing.T) {
	good := providers.Spec{Provider: "bedrock", Model: "m"}
	with := func(change func(*providers.Spec)) providers.Spec {
		s := good
		change(&s)
		return s
	}
	pasted := keys
	pasted.Secret += "\n"
	tests := []struct {
		name   string
		opener bedrock.Opener
		spec   providers.Spec
		want   []string
	}{
		{"no credentials", bedrock.Opener{Region: home}, good, []string{"bedrock: open bedrock:m: Opener.Credentials is nil"}},
		{"no keys", bedrock.Opener{Region: home, Credentials: bedrock.Keys{}}, good, []string{"Keys.ID is empty", "Keys.Secret is empty"}},
		{"key of a file", bedrock.Opener{Region: home, Credentials: pasted}, good, []string{"Keys.Secret holds white space"}},
		{"no region", bedrock.Opener{Credentials: keys}, good, []string{"region is empty, want one such as us-east-1"}},
		{"region that is none", bedrock.Opener{Credentials: keys, Region: "evil.example/#"}, good, []string{`region is "evil.example/#"`}},
		{"region of the Spec", bedrock.Opener{Credentials: keys, Region: home}, with(func(s *providers.Spec) { s.Region = "EU" }), []string{`region is "EU"`}},
		{"region without a known endpoint", bedrock.Opener{Credentials: keys, Region: "us-iso-east-1"}, good, []string{`the endpoint of region "us-iso-east-1" is not known, want a baseURL`}},
		{"another provider", bedrock.Opener{Credentials: keys, Region: home}, with(func(s *providers.Spec) { s.Provider = "openai" }), []string{`unknown provider "openai", want bedrock`}},
		{"no provider", bedrock.Opener{Credentials: keys, Region: home}, with(func(s *providers.Spec) { s.Provider = "" }), []string{"provider is empty"}},
		{"no model", bedrock.Opener{Credentials: keys, Region: home}, with(func(s *providers.Spec) { s.Model = "" }), []string{"model name is empty"}},
		{"version", bedrock.Opener{Credentials: keys, Region: home}, with(func(s *providers.Spec) { s.APIVersion = "1" }), []string{`apiVersion is "1", which azure alone has`}},
		{"limit", bedrock.Opener{Credentials: keys, Region: home, MaxBody: -1}, good, []string{"MaxBody is -1"}},
		{"limit too high", bedrock.Opener{Credentials: keys, Region: home, MaxBody: 1<<30 + 1}, good, []string{"MaxBody is 1073741825"}},
		{"all at once", bedrock.Opener{MaxBody: -1}, with(func(s *providers.Spec) { s.Timeout = "x" }), []string{"timeout is", "MaxBody is -1", "Credentials is nil", "region is empty"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.opener.Open(tt.spec)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			assert.NotContains(t, err.Error(), keys.Secret)
		})
	}
	_, err := bedrock.Open(keys, home)(providers.Spec{Provider: "openai", Model: "m"})
	require.ErrorIs(t, err, providers.ErrUnknownProvider)
}

// recorder keeps where requests go, and answers none.
type recorder struct{ urls []string }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.urls = append(r.urls, req.URL.String())
	return nil, io.ErrClosedPipe
}

func TestEndpoints(t *testing.T) {
	tests := []struct{ region, want string }{
		{"us-east-1", "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse-stream"},
		{"us-gov-west-1", "https://bedrock-runtime.us-gov-west-1.amazonaws.com/model/m/converse-stream"},
		{"cn-north-1", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/m/converse-stream"},
		{"", "https://bedrock-runtime.eu-west-3.amazonaws.com/model/m/converse-stream"}, // the Opener's
	}
	for _, tt := range tests {
		t.Run(tt.region, func(t *testing.T) {
			r := &recorder{}
			m, err := bedrock.Opener{Credentials: keys, Region: home, Transport: r}.
				Open(providers.Spec{Provider: "bedrock", Model: "m", Region: tt.region})
			require.NoError(t, err)
			_, err = m.Generate(t.Context(), hi)
			fault(t, err)
			assert.Equal(t, []string{tt.want}, r.urls)
		})
	}
}

func TestReadsNoEnvironment(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, f.hello()))
			elsewhere := serve(t, reply(200, f.hello()))
			for name, value := range map[string]string{
				"AWS_ACCESS_KEY_ID": "AKIAOTHER", "AWS_SECRET_ACCESS_KEY": "other", "AWS_SESSION_TOKEN": "other",
				"AWS_BEARER_TOKEN_BEDROCK": "other", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
				"AWS_ENDPOINT_URL": elsewhere.URL, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": elsewhere.URL,
				"AWS_MAX_ATTEMPTS": "5", "AWS_EXECUTION_ENV": "other", "HTTP_PROXY": elsewhere.URL,
			} {
				t.Setenv(name, value)
			}
			_, err := bedrock.Opener{}.Open(providers.Spec{Provider: "bedrock", Model: f.model})
			require.ErrorContains(t, err, "Credentials is nil")
			require.ErrorContains(t, err, "region is empty")

			_, err = f.open(t, s).Generate(t.Context(), hi) // the stub checks whose signature it is
			require.NoError(t, err)
			assert.Equal(t, 1, s.hits())
			assert.Zero(t, elsewhere.hits())
			assert.NotContains(t, fmt.Sprint(s.headers), "other")
		})
	}
}

func TestKeysAreNotShown(t *testing.T) {
	o := bedrock.Opener{Credentials: keys, Region: home, Transport: &answering{}}
	m, err := o.Open(providers.Spec{Provider: "bedrock", Model: newest})
	require.NoError(t, err)
	assert.Equal(t, "bedrock:"+newest, fmt.Sprint(m.(providers.Metered).Model))
	var texts []string
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		texts = append(texts, fmt.Sprintf(format, o), fmt.Sprintf(format, m), fmt.Sprintf(format, keys), fmt.Sprintf(format, &keys),
			fmt.Sprintf(format, m.(providers.Metered).Model), fmt.Sprintf(format, struct{ hidden any }{m}))
	}
	data, err := json.Marshal([]any{keys, o.Region, map[string]any{"keys": keys}})
	require.NoError(t, err)
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(h).Info("opened", "opener", o, "keys", keys, "model", m)
	}
	for _, text := range append(texts, string(data), log.String()) {
		for _, key := range []string{keys.ID, keys.Secret, keys.Session} {
			assert.NotContains(t, text, key)
		}
	}
}

// Credentials are asked before each call: they may change.
func TestCredentialsThatChange(t *testing.T) {
	f := families["claude"]
	s := serve(t, reply(200, f.hello()))
	asked := 0
	provider := aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		asked++
		return keys.Retrieve(ctx)
	})
	m, err := bedrock.Open(provider, home)(providers.Spec{Provider: "bedrock", Model: f.model, BaseURL: s.URL})
	require.NoError(t, err)
	for range 2 {
		_, err = m.Generate(t.Context(), hi)
		require.NoError(t, err)
	}
	assert.Equal(t, 2, asked)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.Generate(ctx, hi)
	assert.Equal(t, providers.Canceled, fault(t, err).Kind)
	assert.Equal(t, 2, asked, "for a call that is not made")
}

func TestRolesOverBedrock(t *testing.T) {
	f := families["claude"]
	busy := serve(t, refuse(429, "ThrottlingException", "wait", "Retry-After", "60"))
	free := serve(t, reply(200, f.hello()))
	roles, err := providers.NewRoles(providers.RoleConfig{"writer": {
		{Provider: "bedrock", Model: f.model, BaseURL: busy.URL},
		{Provider: "bedrock", Model: f.model, BaseURL: free.URL, Price: &providers.Price{}},
	}}, bedrock.Open(keys, home))
	require.NoError(t, err)
	writer, err := roles.Model("writer")
	require.NoError(t, err)
	for range 3 {
		resp, err := writer.Generate(t.Context(), hi)
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(resp.Model, "bedrock:"))
		assert.Zero(t, resp.Usage.Unpriced)
	}
	assert.Equal(t, 1, busy.hits())
	assert.Equal(t, 3, free.hits())
}
