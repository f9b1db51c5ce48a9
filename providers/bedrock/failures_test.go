package bedrock_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/bedrock"
	"github.com/convene-go/convene/providers/fake"
	"github.com/convene-go/convene/providers/internal/failtest"
)

// troubles are what AWS calls failures, and the exceptions of its streams.
var troubles = map[failtest.Word]string{
	failtest.Limited: "ThrottlingException", failtest.Spent: "ServiceQuotaExceededException", failtest.BadKey: "UnrecognizedClientException",
	failtest.Forbidden: "AccessDeniedException", failtest.Missing: "ResourceNotFoundException", failtest.TooLong: "ValidationException",
	failtest.Odd: "ValidationException", failtest.Broken: "InternalServerException", failtest.Overloaded: "ServiceUnavailableException",
}

// failing is f's format, for the table of all formats.
func (f family) failing(name string) failtest.Format {
	return failtest.Format{
		Name: name, Path: "-stream", Secrets: []string{keys.ID, keys.Secret, keys.Session}, Used: usage, Type: "application/vnd.amazon.eventstream",
		Open: func(t testing.TB, o failtest.Options) providers.Model {
			t.Helper()
			m, err := bedrock.Opener{Credentials: keys, Region: home, Transport: o.Transport, MaxBody: o.MaxBody}.
				Open(providers.Spec{Provider: "bedrock", Model: f.model, BaseURL: o.URL, Timeout: o.Timeout})
			require.NoError(t, err)
			return m
		},
		Refuse: func(_ int, w failtest.Word, message string) (string, []string) {
			data, err := json.Marshal(map[string]string{"message": message})
			if err != nil || w == failtest.Nothing {
				return string(data), nil
			}
			return string(data), []string{"X-Amzn-Errortype", troubles[w] + ":http://internal.amazon.com/coral/com.amazon.bedrock/"}
		},
		Whole: func(text string) string { return f.says(`"end_turn"`, f.text(text)) },
		Parts: func(text string) []string {
			return []string{string(slices.Concat(f.start(usage)...)), string(f.delta(text)), string(slices.Concat(f.end("end_turn", usage)...))}
		},
		Fault: func(w failtest.Word, message string) string {
			name := troubles[w]
			return string(exception(strings.ToLower(name[:1])+name[1:], message))
		},
	}
}

func TestFailures(t *testing.T) {
	mismatch := "The request signature we calculated does not match. The Canonical String for this request should have been\nx-amz-security-token:" + keys.Session
	own := func(name string, handle http.HandlerFunc, kind providers.Kind, reason providers.Reason, text string) failtest.Case {
		return failtest.Case{Name: name, Answer: func(failtest.Format) http.HandlerFunc { return handle }, Kind: kind, Reason: reason, Text: text}
	}
	var formats []failtest.Format
	for name, f := range families {
		formats = append(formats, f.failing(name))
	}
	failtest.Run(t, formats,
		own("AWS: no such model", refuse(400, "ValidationException", "The provided model identifier is invalid."), providers.Permanent, providers.NotFound, "identifier"),
		own("AWS: not on demand", refuse(400, "ValidationException", "Invocation of model ID m with on-demand throughput isn't supported."), providers.Permanent, providers.NotFound, "on-demand"),
		own("AWS: quota", refuse(400, "ServiceQuotaExceededException", "Your request exceeds the service quota for your account."), providers.Permanent, providers.Quota, "quota"),
		own("AWS: throttled", refuse(400, "ThrottlingException", "Rate exceeded"), providers.RateLimited, "", "Rate exceeded"),
		own("AWS: too many tokens", refuse(429, "ThrottlingException", "Too many tokens, please wait before trying again."), providers.RateLimited, "", "Too many tokens"),
		own("AWS: access denied", refuse(403, "AccessDeniedException", "User "+keys.ID+" is not authorized"), providers.Permanent, providers.Unauthorized, "User [redacted] is not authorized"),
		own("AWS: expired", refuse(403, "ExpiredTokenException", "The security token included in the request is expired"), providers.Permanent, providers.Unauthorized, "expired"),
		own("AWS: signature", refuse(403, "InvalidSignatureException", mismatch), providers.Permanent, providers.Unauthorized, "x-amz-security-token:[redacted]"),
		own("AWS: type in the body", reply(400, `{"__type":"com.amazon.coral.service#UnrecognizedClientException","Message":"The security token is invalid."}`), providers.Permanent, providers.Unauthorized, "token is invalid"),
		own("AWS: an old model", refuse(404, "ResourceNotFoundException", "The model has reached the end of its life."), providers.Permanent, providers.NotFound, "end of its life"),
		own("AWS: out of time", refuse(408, "ModelTimeoutException", "Model has timed out"), providers.Transient, providers.Unavailable, "timed out"),
		own("AWS: the model failed", refuse(424, "ModelErrorException", "The model had an error"), providers.Transient, providers.Unavailable, "had an error"),
		own("AWS: not ready", refuse(429, "ModelNotReadyException", "not ready"), providers.RateLimited, "", "not ready"),
		own("AWS: lost access", refuse(500, "InternalServerException", "lost access to the model"), providers.Transient, providers.Unavailable, ""),
		own("AWS: Anthropic's words", reply(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), providers.Transient, providers.Overloaded, "Overloaded"),
		own("AWS: the model's stream failed", events(exception("modelStreamErrorException", "boom")), providers.Transient, providers.Unavailable, "boom"),
		own("AWS: an error that has no model", events(frame("", ":message-type", "error", ":error-code", "InternalFailure", ":error-message", "oops")), providers.Transient, "", "oops"),
		own("AWS: a frame that is no JSON", events(event("chunk", "{"), event("messageStop", "{")), providers.Transient, "", "read event"),
	)
}

func TestUnusableAnswers(t *testing.T) {
	charged := usage
	charged.Calls, charged.Unpriced = 1, 1
	tests := []struct {
		name  string
		body  func(family) string
		usage providers.Usage
	}{
		{"no blocks", func(f family) string { return f.says(`"end_turn"`) }, charged},
		{"null block", func(f family) string { return f.says(`"end_turn"`, "null") }, charged},
		{"block of another form", func(f family) string { return f.says(`"end_turn"`, `"a"`) }, charged},
		{"unknown block", func(f family) string { return f.says(`"end_turn"`, `{"type":"dance"}`) }, charged},
		{"thought alone", func(f family) string { return f.says(`"end_turn"`, f.thought("S")) }, charged},
		{"a stop of another form", func(f family) string { return f.says(`7`, f.text("a")) }, charged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, f := range families {
				t.Run(name, func(t *testing.T) {
					s := serve(t, reply(200, tt.body(f)))
					_, err := f.open(t, s).Generate(t.Context(), hi)
					e := fault(t, err)
					assert.Equal(t, providers.Transient, e.Kind)
					assert.Equal(t, tt.usage, e.Usage)
					assert.Equal(t, 1, s.hits(), "one attempt")
				})
			}
		})
	}
}

func TestErrorWithStatus200(t *testing.T) {
	s := serve(t, reply(200, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, "Retry-After", "7"))
	_, err := families["claude"].open(t, s).Generate(t.Context(), hi)
	e := fault(t, err)
	assert.Equal(t, providers.RateLimited, e.Kind)
	assert.Equal(t, "slow down", e.Message)
	assert.Equal(t, 7*time.Second, e.RetryAfter)
}

// An event that announces 256 MiB, with the right checksum of that, is not waited for.
func TestHostileFrame(t *testing.T) {
	event := []byte{0x10, 0, 0, 0, 0, 0, 0, 0}
	event = append(event, crc(event)...)
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, reply(200, string(event)+strings.Repeat("x", 8<<20), "Content-Type", "application/vnd.amazon.eventstream"))
			m, err := bedrock.Opener{Credentials: keys, Region: home, MaxBody: 4 << 20}.
				Open(providers.Spec{Provider: "bedrock", Model: f.model, BaseURL: s.URL})
			require.NoError(t, err)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = m.Generate(t.Context(), hi)
			runtime.ReadMemStats(&after)
			e := fault(t, err)
			assert.Equal(t, providers.Permanent, e.Kind)
			assert.Contains(t, e.Message, "longer than the limit")
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), "bytes allocated")
		})
	}
}

func TestBodyOfTheLimitIsRead(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			body := f.hello()
			s := serve(t, reply(200, body))
			for size, want := range map[int]string{len(body): "", len(body) - 1: "longer than the limit"} {
				m, err := bedrock.Opener{Credentials: keys, Region: home, MaxBody: int64(size)}.
					Open(providers.Spec{Provider: "bedrock", Model: f.model, BaseURL: s.URL})
				require.NoError(t, err)
				_, err = m.Generate(t.Context(), hi)
				if want == "" {
					require.NoError(t, err)
					continue
				}
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// answering is a transport with an answer, whose body it wants closed.
type answering struct {
	status int
	io.Reader
	closed int
}

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: a}, nil
}

func (a *answering) Close() error {
	a.closed++
	return nil
}

func TestBodyIsClosed(t *testing.T) {
	f := families["claude"]
	stream := string(f.delta("a")) + string(slices.Concat(f.end("end_turn", usage)...))
	tests := []struct {
		name   string
		status int
		body   string
		onText func(string) error
	}{
		{"answer", 200, f.hello(), nil},
		{"refusal", 500, "boom", nil},
		{"stream", 200, stream, func(string) error { return nil }},
		{"stream that is ended", 200, stream, func(string) error { return io.EOF }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := &answering{status: tt.status, Reader: strings.NewReader(tt.body)}
			m, err := bedrock.Opener{Credentials: keys, Region: home, Transport: a}.Open(providers.Spec{Provider: "bedrock", Model: f.model})
			require.NoError(t, err)
			req := hi
			req.OnText = tt.onText
			_, _ = m.Generate(t.Context(), req)
			assert.Equal(t, 1, a.closed)
		})
	}
}

func TestCredentialsThatFail(t *testing.T) {
	tests := []struct {
		name string
		err  error
		kind providers.Kind
	}{
		{"there are none", errors.New("no role for " + keys.Secret), providers.Permanent},
		{"the network", &net.OpError{Op: "dial", Err: errors.New("refused")}, providers.Transient},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, reply(200, ""))
			provider := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: keys.ID, SecretAccessKey: keys.Secret}, tt.err
			})
			m, err := bedrock.Open(provider, home)(providers.Spec{Provider: "bedrock", Model: newest, BaseURL: s.URL})
			require.NoError(t, err)
			_, err = m.Generate(t.Context(), hi)
			e := fault(t, err)
			assert.Equal(t, tt.kind, e.Kind)
			assert.Contains(t, e.Message, "get AWS credentials")
			assert.Zero(t, s.hits())
		})
	}
}

func TestCredentialsThatHang(t *testing.T) {
	provider := aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		<-ctx.Done()
		return aws.Credentials{}, ctx.Err()
	})
	m, err := bedrock.Open(provider, home)(providers.Spec{Provider: "bedrock", Model: newest, Timeout: "20ms"})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), hi)
	e := fault(t, err)
	assert.Equal(t, providers.Transient, e.Kind)
	assert.Equal(t, "no answer within 20ms", e.Message)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.Generate(ctx, hi)
	assert.Equal(t, providers.Canceled, fault(t, err).Kind)
}

// quiet is a test that is told of refused calls.
type quiet struct {
	fake.T
	tried int
}

func (q *quiet) Errorf(string, ...any) { q.tried++ }

func TestBlockedNetwork(t *testing.T) {
	s := serve(t, reply(200, families["claude"].hello()))
	m := families["claude"].open(t, s)
	t.Run("blocked", func(t *testing.T) {
		q := &quiet{T: t}
		fake.BlockNetwork(q)
		_, err := m.Generate(t.Context(), hi)
		assert.Equal(t, providers.Permanent, fault(t, err).Kind)
		assert.ErrorContains(t, err, "blocked")
		assert.Equal(t, 1, q.tried)
	})
	t.Run("with an exception", func(t *testing.T) {
		fake.BlockNetwork(t, "127.0.0.1")
		_, err := m.Generate(t.Context(), hi)
		assert.NoError(t, err)
	})
	assert.Equal(t, 1, s.hits())
}
