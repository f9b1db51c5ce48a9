package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/network"
	"github.com/convene-go/convene/providers/internal/redact"
)

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 8 << 10

// concessions limits how often one call is repeated because the vendor refuses something
// that can be left out. Each thing is left out once.
const concessions = 8

var (
	errTooBig     = errors.New("the answer is longer than the limit")
	errCallback   = errors.New("OnText ended the call")
	errUnusable   = errors.New("the answer has neither text nor tool calls")
	errUnfinished = errors.New("the stream ended without a finish reason")
	errBroken     = errors.New("the vendor broke off the answer")
	errTimeout    = errors.New("no answer within")
	errSign       = errors.New("sign request")
)

// exchange is the state of one call. One goroutine uses it.
type exchange struct {
	req      providers.Request
	secrets  []string
	sent     bool
	paths    []string // paths of the URLs that were asked, one for each request
	streamed bool     // the answer came as a stream
	received int64    // bytes of the answer's body
	status   int      // HTTP status; 0: none came
	header   http.Header
	said     *Said // words of an answer with an error's status; nil: it has none
	answer   Answer
	silence  silence
}

// silence ends a call that receives nothing for too long.
type silence struct {
	timer *time.Timer // its function reads limit, too
	limit atomic.Int64
	idle  time.Duration
}

func (s *silence) heard() { s.timer.Reset(time.Duration(s.limit.Load())) }

// begun sets the shorter limit for an answer that has begun.
func (s *silence) begun() {
	if s.limit.Swap(int64(s.idle)) != int64(s.idle) {
		s.heard()
	}
}

// silentError says for how long nothing was received.
type silentError struct{ limit time.Duration }

func (e silentError) Error() string { return fmt.Sprintf("nothing heard for %v", e.limit) }

// Generate makes one attempt.
func (m *Model) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	ex := &exchange{req: req}
	if err := Check(req); err != nil {
		return providers.Response{}, m.fault(ex, &providers.Error{Kind: providers.Invalid, Message: err.Error(), Err: err})
	}
	attempt, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ex.silence.idle = m.options.Idle
	ex.silence.limit.Store(int64(First))
	ex.silence.timer = time.AfterFunc(First, func() { cancel(silentError{time.Duration(ex.silence.limit.Load())}) })
	defer ex.silence.timer.Stop()
	if m.timeout > 0 {
		over := time.AfterFunc(m.timeout, func() { cancel(fmt.Errorf("%w %v", errTimeout, m.timeout)) })
		defer over.Stop()
	}
	err := m.ask(attempt, ex)
	if err == nil {
		var resp providers.Response
		if resp, err = m.response(ex); err == nil {
			return resp, nil
		}
	}
	return providers.Response{}, m.fault(ex, m.classify(ctx, attempt, ex, err))
}

// ask sends the request, and repeats it without what the vendor refuses.
func (m *Model) ask(ctx context.Context, ex *exchange) error {
	talk, err := m.talk(ex.req)
	if err != nil {
		return err
	}
	var refused string // the request that was
	for range concessions {
		ex.answer = Answer{exchange: ex}
		url, body, err := talk.Ask(&ex.answer)
		if err != nil {
			return fmt.Errorf("write request: %w", err)
		}
		if refused != "" && refused == url+string(body) {
			break
		}
		if err := m.send(ctx, ex, talk, url, body); err != nil {
			return err
		}
		if ex.said == nil || !talk.Concede(ex.status, ex.said) {
			break
		}
		refused = url + string(body)
	}
	if ex.said != nil {
		return ex.said
	}
	return nil
}

// send sends a request and reads the answer.
func (m *Model) send(ctx context.Context, ex *exchange, talk Talk, url string, body []byte) error {
	ex.said, ex.status, ex.header, ex.streamed = nil, 0, nil, false
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	if err := errors.Join(ctx.Err(), network.Check(r.URL.Host)); err != nil {
		return err
	}
	ex.paths = append(ex.paths, r.URL.EscapedPath())
	r.Header.Set("Content-Type", "application/json")
	for name, values := range m.options.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if ex.secrets, err = m.sign(ctx, r, body); err != nil {
		return fmt.Errorf("%w: %w", errSign, err)
	}
	ex.sent = true
	resp, err := m.options.Transport.RoundTrip(r) // not a Client: it would follow redirects
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	ex.silence.heard()
	ex.status, ex.header = resp.StatusCode, resp.Header
	if ex.status < 200 || ex.status > 299 {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // the status says enough
		ex.said = readSaid(data, resp.Header)
		return nil
	}
	return m.read(ex, talk, &hearing{r: &limitedReader{r: resp.Body, left: m.options.MaxBody}, ex: ex})
}

// redactor knows all secrets of a call.
func (m *Model) redactor(ex *exchange) redact.Redactor { return m.redact.With(ex.secrets...) }
