package failtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

// least is how many ways to fail every format must be tested with.
const least = 70

// Case is one way to fail. Unset fields are not checked, except Kind, After and TooLong.
type Case struct {
	Name    string                          // name of the subtest
	Answer  func(f Format) http.HandlerFunc // answer of the server
	Options Options                         // beside the URL

	Kind    providers.Kind   // kind of the error
	Reason  providers.Reason // reason of the error; "": not checked
	After   time.Duration    // RetryAfter of the error
	TooLong bool             // TooLong of the error
	Text    string           // in the message
	Status  int              // HTTP status of the error; 0: not checked
	Charged bool             // the error has the usage that the answer reports
	Paid    bool             // a call with an estimate of what was used is in the error
	Free    bool             // nothing was used
}

// Run plays all cases, and those of one format, with each format. It fails if a format
// has fewer than 70 ways to fail.
func Run(t *testing.T, formats []Format, own ...Case) {
	for _, f := range formats {
		t.Run(f.Name, func(t *testing.T) {
			cases, calls := append(all(f), own...), calls()
			if n := len(cases) + len(calls); n < least {
				t.Errorf("%d ways to fail, want at least %d", n, least)
			}
			names := map[string]bool{}
			for _, c := range cases {
				require.False(t, names[c.Name], "two cases are named %q", c.Name)
				names[c.Name] = true
				t.Run(c.Name, func(t *testing.T) { f.try(t, c) })
			}
			for _, c := range calls {
				t.Run(c.name, func(t *testing.T) { c.run(t, f) })
			}
		})
	}
}

// try makes the call of a case twice: without and with OnText.
func (f Format) try(t *testing.T, c Case) {
	for _, watched := range []bool{false, true} {
		s := serve(t, c.Answer(f))
		c.Options.URL = s.URL
		req := hi
		if watched {
			req.OnText = func(string) error { return nil }
		}
		resp, err := f.Open(t, c.Options).Generate(t.Context(), req)
		e := f.fault(t, err)
		assert.Equal(t, c.Kind, e.Kind, e)
		if c.Reason != "" {
			assert.Equal(t, c.Reason, e.Reason, e)
		}
		assert.Equal(t, c.After, e.RetryAfter)
		assert.Equal(t, c.TooLong, e.TooLong)
		assert.Contains(t, e.Message, c.Text)
		if c.Status != 0 {
			assert.Equal(t, c.Status, e.Status)
		}
		if c.Charged {
			used := f.Used
			used.Calls, used.Unpriced = 1, 1
			assert.Equal(t, used, e.Usage)
		}
		if c.Paid {
			assert.Equal(t, int64(1), e.Usage.Calls)
			assert.Equal(t, int64(1), e.Usage.Unpriced, "the model has no price")
			assert.Positive(t, e.Usage.Input)
		}
		if c.Free {
			assert.Equal(t, providers.Usage{}, e.Usage)
		}
		assert.Equal(t, providers.Response{}, resp)
		assert.Equal(t, int64(1), s.hits.Load(), "one attempt")
		s.Close()
	}
}

// call is a way to fail that is more than an answer.
type call struct {
	name string
	run  func(t *testing.T, f Format)
}

func calls() []call {
	return []call{
		{"the caller's deadline", deadline},
		{"canceled before the answer", func(t *testing.T, f Format) { canceled(t, f, "", "") }},
		{"canceled in an answer", func(t *testing.T, f Format) { canceled(t, f, "application/json", f.Whole("hello")[:20]) }},
		{"canceled in a stream", func(t *testing.T, f Format) { canceled(t, f, f.Type, f.begun("a")) }},
		{"ended by the reader of a stream", func(t *testing.T, f Format) {
			parts := f.Parts("a")
			ended(t, f, Reply(http.StatusOK, parts[0]+parts[1]+parts[2], "Content-Type", f.Type))
		}},
		{"ended by the reader of an answer", func(t *testing.T, f Format) { ended(t, f, Reply(http.StatusOK, f.Whole("hello"))) }},
		{"an answer without an end", func(t *testing.T, f Format) { drowned(t, f, flood("application/json", f.Whole("hello")[:20])) }},
		{"a stream without an end", func(t *testing.T, f Format) { drowned(t, f, flood("text/event-stream", "data: ")) }},
		{"an answer that is announced as long", func(t *testing.T, f Format) {
			drowned(t, f, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "268435456")
				flood("application/json", "")(w, r)
			})
		}},
		{"connection refused", refused},
		{"the transport of the host fails", transport},
		{"a certificate of another host", certificate},
		{"redirects carry no key", redirected},
		{"the prompt is quoted", quoted},
	}
}

func deadline(t *testing.T, f Format) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := f.Open(t, Options{URL: serve(t, Stall("", "")).URL}).Generate(ctx, hi)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, providers.Canceled, f.fault(t, err).Kind)
}

// canceled cancels once the server has begun to answer; the second call is not sent.
func canceled(t *testing.T, f Format, contentType, begun string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if begun != "" {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte(begun))
			_ = http.NewResponseController(w).Flush()
		}
		cancel(why)
		<-r.Context().Done()
	})
	m := f.Open(t, Options{URL: s.URL})
	for range 2 {
		_, err := m.Generate(ctx, hi)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, why)
		assert.Equal(t, providers.Canceled, f.fault(t, err).Kind)
	}
	assert.Equal(t, int64(1), s.hits.Load())
}

func ended(t *testing.T, f Format, answer http.HandlerFunc) {
	t.Helper()
	enough, told, req := errors.New("enough"), 0, hi
	req.OnText = func(string) error { told++; return enough }
	_, err := f.Open(t, Options{URL: serve(t, answer).URL}).Generate(t.Context(), req)
	require.ErrorIs(t, err, enough)
	assert.Equal(t, providers.Canceled, f.fault(t, err).Kind)
	assert.Equal(t, 1, told)
}

// drowned checks that no more than the limit is read.
func drowned(t *testing.T, f Format, answer http.HandlerFunc) {
	t.Helper()
	m := f.Open(t, Options{URL: serve(t, answer).URL, MaxBody: 1 << 20})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := m.Generate(t.Context(), hi)
	runtime.ReadMemStats(&after)
	e := f.fault(t, err)
	assert.Equal(t, providers.Permanent, e.Kind)
	assert.Contains(t, e.Message, "longer than the limit")
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "bytes allocated")
}

func refused(t *testing.T, f Format) {
	refusing := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}}
	_, err := f.Open(t, Options{URL: "http://h", Transport: refusing}).Generate(t.Context(), hi)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	e := f.fault(t, err)
	assert.Equal(t, []error{providers.Transient, providers.Unavailable}, []error{e.Kind, e.Reason})
	assert.Contains(t, e.Message, "refused")
}

// chatty is a transport that quotes keys.
type chatty struct{}

type transportError struct{ text string }

func (e transportError) Error() string { return e.text }

func (chatty) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, transportError{fmt.Sprintf("the proxy says no to %q", r.Header)}
}

func transport(t *testing.T, f Format) {
	_, err := f.Open(t, Options{URL: "http://h", Transport: chatty{}}).Generate(t.Context(), hi)
	require.ErrorAs(t, err, new(transportError))
	e := f.fault(t, err)
	assert.Equal(t, providers.Transient, e.Kind)
	assert.Contains(t, e.Message, "the proxy says no to")
}

func certificate(t *testing.T, f Format) {
	_, err := f.Open(t, Options{URL: secure(t).URL}).Generate(t.Context(), hi)
	assert.Equal(t, providers.Permanent, f.fault(t, err).Kind)
}

func redirected(t *testing.T, f Format) {
	other := serve(t, Reply(http.StatusOK, f.Whole("hello")))
	for _, status := range []int{301, 302, 303, 307, 308} {
		_, err := f.Open(t, Options{URL: serve(t, Reply(status, "", "Location", other.URL)).URL}).Generate(t.Context(), hi)
		e := f.fault(t, err)
		assert.Equal(t, providers.Permanent, e.Kind)
		assert.Equal(t, status, e.Status)
		assert.Equal(t, "redirects are not followed", e.Message)
	}
	assert.Zero(t, other.hits.Load())
}

// quoted checks that the prompt is not in the error, and that its words do not classify
// it.
func quoted(t *testing.T, f Format) {
	const prompt = "the prompt is too long and its credit balance is insufficient_quota"
	body, headers := f.Refuse(http.StatusBadRequest, Odd, "cannot read: "+prompt)
	req := providers.Request{Messages: []providers.Message{{Role: providers.User, Text: prompt}}}
	_, err := f.Open(t, Options{URL: serve(t, Reply(http.StatusBadRequest, body, headers...)).URL}).Generate(t.Context(), req)
	e := f.fault(t, err)
	assert.Equal(t, "cannot read: [prompt]", e.Message)
	assert.NotContains(t, errors.Unwrap(e).Error(), prompt)
	assert.Equal(t, providers.Invalid, e.Kind)
	assert.False(t, e.TooLong)
}
