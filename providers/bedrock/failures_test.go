package bedrock_test

import (
	"context"
	"errors"
	"fmt"
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
)

// cut promises more than it sends.
func cut(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write(body)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestRefusals(t *testing.T) {
	mismatch := "The request signature we calculated does not match. The Canonical String for this request should have been\nx-amz-security-token:" + keys.Session
	tests := []struct {
		name    string
		handle  http.HandlerFunc
		kind    providers.Kind
		after   time.Duration
		tooLong bool
		text    string
	}{
		{name: "400", handle: refuse(400, "ValidationException", "Malformed input request"), kind: providers.Invalid, text: "Malformed input request"},
		{name: "400 too long", handle: refuse(400, "ValidationException", "prompt is too long: 240112 tokens > 200000 maximum"), kind: providers.Invalid, tooLong: true, text: "240112"},
		{name: "400 too long for all", handle: refuse(400, "ValidationException", "Input is too long for requested model."), kind: providers.Invalid, tooLong: true},
		{name: "400 too long with the answer", handle: refuse(400, "ValidationException", "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000"), kind: providers.Invalid, tooLong: true},
		{name: "400 no such model", handle: refuse(400, "ValidationException", "The provided model identifier is invalid."), kind: providers.Permanent, text: "identifier"},
		{name: "400 not on demand", handle: refuse(400, "ValidationException", "Invocation of model ID m with on-demand throughput isn't supported."), kind: providers.Permanent},
		{name: "400 quota", handle: refuse(400, "ServiceQuotaExceededException", "Your request exceeds the service quota for your account."), kind: providers.Permanent, text: "quota"},
		{name: "400 throttled", handle: refuse(400, "ThrottlingException", "Rate exceeded"), kind: providers.RateLimited, text: "Rate exceeded"},
		{name: "401", handle: reply(401, `{"message":"no"}`), kind: providers.Permanent, text: "no"},
		{name: "402", handle: reply(402, ""), kind: providers.Permanent, text: "Payment Required"},
		{name: "403 access denied", handle: refuse(403, "AccessDeniedException", "User "+keys.ID+" is not authorized"), kind: providers.Permanent, text: "User [redacted] is not authorized"},
		{name: "403 expired", handle: refuse(403, "ExpiredTokenException", "The security token included in the request is expired"), kind: providers.Permanent, text: "expired"},
		{name: "403 signature", handle: refuse(403, "InvalidSignatureException", mismatch), kind: providers.Permanent, text: "x-amz-security-token:[redacted]"},
		{name: "400 type in the body", handle: reply(400, `{"__type":"com.amazon.coral.service#UnrecognizedClientException","Message":"The security token is invalid."}`), kind: providers.Permanent, text: "token is invalid"},
		{name: "404", handle: refuse(404, "ResourceNotFoundException", "The model has reached the end of its life."), kind: providers.Permanent, text: "end of its life"},
		{name: "408", handle: refuse(408, "ModelTimeoutException", "Model has timed out"), kind: providers.Transient, text: "timed out"},
		{name: "413", handle: reply(413, ""), kind: providers.Invalid, tooLong: true, text: "Request Entity Too Large"},
		{name: "422", handle: reply(422, `{"message":"odd"}`), kind: providers.Invalid, text: "odd"},
		{name: "424", handle: refuse(424, "ModelErrorException", "The model had an error"), kind: providers.Transient},
		{name: "429", handle: refuse(429, "ThrottlingException", "Too many tokens, please wait before trying again."), kind: providers.RateLimited, text: "Too many tokens"},
		{name: "429 seconds", handle: refuse(429, "ThrottlingException", "wait", "Retry-After", "7"), kind: providers.RateLimited, after: 7 * time.Second},
		{name: "429 date", handle: refuse(429, "ThrottlingException", "wait", "Date", "Fri, 02 Jan 2026 03:04:05 GMT", "Retry-After", "Fri, 02 Jan 2026 03:05:35 GMT"), kind: providers.RateLimited, after: 90 * time.Second},
		{name: "429 not ready", handle: refuse(429, "ModelNotReadyException", "not ready"), kind: providers.RateLimited},
		{name: "429 and no more", handle: reply(429, ""), kind: providers.RateLimited, text: "Too Many Requests"},
		{name: "500", handle: refuse(500, "InternalServerException", "boom"), kind: providers.Transient, text: "boom"},
		{name: "500 with bad words", handle: reply(500, `{"message":"rate limit of 142900 tokens is too long, 401"}`), kind: providers.Transient},
		{name: "500 with other words", handle: refuse(500, "InternalServerException", "lost access to the model"), kind: providers.Transient},
		{name: "502 page", handle: reply(502, "<html><body>bad", "Content-Type", "text/html"), kind: providers.Transient, text: "Bad Gateway"},
		{name: "503 with a time", handle: refuse(503, "ServiceUnavailableException", "busy", "Retry-After", "3"), kind: providers.Transient, after: 3 * time.Second, text: "busy"},
		{name: "529", handle: reply(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), kind: providers.Transient, text: "Overloaded"},
		{name: "the key in an error", handle: reply(403, "key "+keys.Secret+" and "+keys.Session), kind: providers.Permanent, text: "key [redacted] and [redacted]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, f := range families {
				t.Run(name, func(t *testing.T) {
					s := serve(t, tt.handle)
					_, err := f.open(t, s).Generate(t.Context(), hi)
					e := fault(t, err)
					assert.Equal(t, tt.kind, e.Kind)
					assert.Equal(t, tt.after, e.RetryAfter)
					assert.Equal(t, tt.tooLong, e.TooLong)
					assert.Contains(t, e.Message, tt.text)
					assert.NotZero(t, e.Status)
					assert.Equal(t, providers.Usage{}, e.Usage)
					assert.Equal(t, 1, s.hits(), "one attempt")
				})
			}
		})
	}
}

func TestUnusableAnswers(t *testing.T) {
	charged := usage
	charged.Calls, charged.Unpriced = 1, 1
	tests := []struct {
		name  string
		body  func(family) string
		usage providers.Usage
	}{
		{"empty", func(family) string { return "" }, providers.Usage{}},
		{"page", func(family) string { return "<html>hello</html>" }, providers.Usage{}},
		{"empty object", func(family) string { return "{}" }, providers.Usage{}},
		{"null", func(family) string { return "null" }, providers.Usage{}},
		{"a list", func(family) string { return "[]" }, providers.Usage{}},
		{"no blocks", func(f family) string { return f.says(`"end_turn"`) }, charged},
		{"null block", func(f family) string { return f.says(`"end_turn"`, "null") }, charged},
		{"block of another form", func(f family) string { return f.says(`"end_turn"`, `"a"`) }, charged},
		{"unknown block", func(f family) string { return f.says(`"end_turn"`, `{"type":"dance"}`) }, charged},
		{"nothing said", func(f family) string { return f.says(`"end_turn"`, f.text("")) }, charged},
		{"thought alone", func(f family) string { return f.says(`"end_turn"`, f.thought("S")) }, charged},
		{"a stop of another form", func(f family) string { return f.says(`7`, f.text("a")) }, charged},
		{"broken JSON with a key", func(family) string { return `{"content":"` + keys.Secret + `","output":"` + keys.Secret + `"}` }, providers.Usage{}},
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

func TestCutAnswer(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			s := serve(t, cut("application/json", []byte(f.hello()[:40])))
			_, err := f.open(t, s).Generate(t.Context(), hi)
			assert.Equal(t, providers.Transient, fault(t, err).Kind)
			assert.Equal(t, 1, s.hits(), "one attempt")
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

// hang answers when the client has gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestCallersDeadline(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := f.open(t, serve(t, hang)).Generate(ctx, hi)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, providers.Canceled, fault(t, err).Kind)
		})
	}
}

func TestAttemptTimeout(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			for name, handle := range map[string]http.HandlerFunc{"before headers": hang, "in the body": stall(f.hello()[:40])} {
				t.Run(name, func(t *testing.T) {
					spec := providers.Spec{Provider: "bedrock", Model: f.model, BaseURL: serve(t, handle).URL, Timeout: "20ms"}
					_, err := open(t, spec).Generate(t.Context(), hi)
					e := fault(t, err)
					assert.Equal(t, providers.Transient, e.Kind)
					assert.Equal(t, "no answer within 20ms", e.Message)
				})
			}
		})
	}
}

// stall answers with the beginning of an answer.
func stall(begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, begin)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

func TestCanceledBeforeHeaders(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("enough")
			s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
				cancel(why)
				<-r.Context().Done()
			})
			m := f.open(t, s)
			for range 2 { // the second time it is not sent
				_, err := m.Generate(ctx, hi)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, why)
				assert.Equal(t, providers.Canceled, fault(t, err).Kind)
			}
			assert.Equal(t, 1, s.hits())
		})
	}
}

func TestCanceledInTheBody(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("enough")
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, f.hello()[:40])
				_ = http.NewResponseController(w).Flush()
				cancel(why)
				<-r.Context().Done()
			})
			_, err := f.open(t, s).Generate(ctx, hi)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, why)
			assert.Equal(t, providers.Canceled, fault(t, err).Kind)
		})
	}
}

func TestHostileBodyIsNotRead(t *testing.T) {
	const pieces = 256 // of 1 MiB
	piece := strings.Repeat("x", 1<<20)
	flood := func(contentType string, begin []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write(begin)
			for range pieces {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		}
	}
	// an event that announces 256 MiB, with the right checksum of that
	event := []byte{0x10, 0, 0, 0, 0, 0, 0, 0}
	event = append(event, crc(event)...)
	for name, handle := range map[string]http.HandlerFunc{
		"answer": flood("application/json", []byte(`{"content":[{"type":"text","text":"`)),
		"event":  flood("application/vnd.amazon.eventstream", event),
		"announced": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(pieces<<20))
			flood("application/json", nil)(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for name, f := range families {
				t.Run(name, func(t *testing.T) {
					m, err := bedrock.Opener{Credentials: keys, Region: home, MaxBody: 4 << 20}.
						Open(providers.Spec{Provider: "bedrock", Model: f.model, BaseURL: serve(t, handle).URL})
					require.NoError(t, err)
					req := hi
					req.OnText = func(string) error { return nil }
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					_, err = m.Generate(t.Context(), req)
					runtime.ReadMemStats(&after)
					e := fault(t, err)
					assert.Equal(t, providers.Permanent, e.Kind)
					assert.Contains(t, e.Message, "longer than the limit")
					assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(48<<20), "bytes allocated")
				})
			}
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

func TestHostileErrorBodyIsCut(t *testing.T) {
	s := serve(t, reply(500, strings.Repeat("x", 8<<20), "Content-Type", "text/plain"))
	_, err := families["claude"].open(t, s).Generate(t.Context(), hi)
	e := fault(t, err)
	assert.Equal(t, providers.Transient, e.Kind)
	assert.Len(t, e.Message, 303)
	assert.Less(t, len(e.Err.Error()), 9<<10)
}

func TestRedirectIsNotFollowed(t *testing.T) {
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			other := serve(t, reply(200, f.hello()))
			for _, status := range []int{301, 302, 307, 308} {
				s := serve(t, reply(status, "", "Location", other.URL+"/model/m/invoke"))
				_, err := f.open(t, s).Generate(t.Context(), hi)
				e := fault(t, err)
				assert.Equal(t, providers.Permanent, e.Kind)
				assert.Equal(t, status, e.Status)
				assert.Equal(t, "redirects are not followed", e.Message)
			}
			assert.Zero(t, other.hits())
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = open(t, providers.Spec{Provider: "bedrock", Model: newest, BaseURL: "http://" + addr}).Generate(t.Context(), hi)
	e := fault(t, err)
	assert.Equal(t, providers.Transient, e.Kind)
	assert.Contains(t, e.Message, "refused")
}

type brokenTransport struct{}

func (brokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("proxy says no to %v", r.Header)
}

func TestTransportOfTheHost(t *testing.T) {
	o := bedrock.Opener{Credentials: keys, Transport: brokenTransport{}, Region: home}
	m, err := o.Open(providers.Spec{Provider: "bedrock", Model: newest})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), hi)
	e := fault(t, err)
	assert.Equal(t, providers.Transient, e.Kind)
	assert.Contains(t, e.Message, "proxy says no to")
	assert.Contains(t, e.Message, "[redacted]")
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

func TestCertificateOfSomebodyElse(t *testing.T) {
	s := newTLS(t)
	_, err := open(t, providers.Spec{Provider: "bedrock", Model: newest, BaseURL: s.URL}).Generate(t.Context(), hi)
	assert.Equal(t, providers.Permanent, fault(t, err).Kind)
}

func TestErrorsDoNotQuoteThePrompt(t *testing.T) {
	s := serve(t, refuse(400, "ValidationException", "cannot read: the merger is announced on Friday"))
	req := providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "the merger is announced on Friday"}}}
	_, err := families["claude"].open(t, s).Generate(t.Context(), req)
	e := fault(t, err)
	assert.Equal(t, "cannot read: [prompt]", e.Message)
	assert.NotContains(t, e.Err.Error(), "merger")
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
