// Package failtest has the ways in which a vendor may fail, and the error that a model
// must return for each: one table for all formats.
package failtest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

// Format is a vendor's format, as its server writes it.
type Format struct {
	Name    string                                        // name of the format, of a subtest
	Secrets []string                                      // secrets that the model was opened with: no error holds them
	Path    string                                        // path of a request's URL
	Open    func(t testing.TB, o Options) providers.Model // opens a model of the format

	// Refuse returns the body of an error, and the headers that come with it, as name,
	// value, ...
	Refuse func(status int, w Word, message string) (body string, headers []string)

	Whole func(text string) string            // an answer in one piece, as JSON; of "" with nothing in it
	Used  providers.Usage                     // usage of such an answer
	Type  string                              // type of a stream's content
	Parts func(text string) []string          // a whole stream: what comes before the text, the piece with it, what comes after
	Fault func(w Word, message string) string // an event of a stream that reports a failure
}

// Options are how a model is opened.
type Options struct {
	URL       string            // base of the service
	Transport http.RoundTripper // carrier of requests; nil: the opener's own
	MaxBody   int64             // bytes of an answer at most; 0: the default
	Timeout   string            // limit of one attempt, as "20ms"; "": none
}

// Word is a vendor's word for a failure, in each format.
type Word int

// The words. Nothing: the vendor has no word for it.
const (
	Nothing Word = iota
	Limited
	Spent
	BadKey
	Forbidden
	Missing
	TooLong
	Odd
	Broken
	Overloaded
)

// begun is a stream without its end.
func (f Format) begun(text string) string {
	parts := f.Parts(text)
	return parts[0] + parts[1]
}

// server answers everything with handle, and counts.
type server struct {
	*httptest.Server
	hits atomic.Int64
}

func serve(t testing.TB, handle http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hits.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// Reply answers with a status and a body; headers are name, value, ...
func Reply(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Cut announces more bytes than it sends.
func Cut(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Stall begins an answer, and waits until the client disconnects.
func Stall(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if body != "" {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, body)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

// flood answers with the beginning of an answer that does not end.
func flood(contentType, begin string) http.HandlerFunc {
	piece := strings.Repeat("x", 1<<20)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, begin)
		for range 256 {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}
}

// fault returns err after checking it as every error must be: typed, naming the model, and
// without secrets however it is printed.
func (f Format) fault(t testing.TB, err error) *providers.Error {
	t.Helper()
	var e *providers.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Model, ":")
	require.ErrorIs(t, err, e.Kind)
	var texts []string
	for _, v := range []any{err, *e, e, e.Err, errors.Unwrap(e.Err)} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%s"} {
			texts = append(texts, fmt.Sprintf(verb, v))
		}
	}
	all := strings.Join(texts, "\n")
	for _, secret := range f.Secrets {
		assert.NotContains(t, all, secret, "a secret is in the error")
	}
	return e
}

var hi = providers.Request{Messages: []providers.Message{
	{Role: providers.System, Text: "be brief"},
	{Role: providers.User, Text: "hi"},
}}
