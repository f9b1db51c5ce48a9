package bedrock

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/convene-go/convene/providers/internal/network"
)

// sharedTransport has no proxy, which would come from the environment.
var sharedTransport http.RoundTripper = &http.Transport{
	DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
	TLSHandshakeTimeout: 10 * time.Second,
	ForceAttemptHTTP2:   true,
	MaxIdleConns:        256,
	MaxIdleConnsPerHost: 64,
	IdleConnTimeout:     90 * time.Second,
}

var (
	errTooBig      = errors.New("the answer is longer than the limit")
	errCredentials = errors.New("get AWS credentials")
)

// wire carries one model's requests. All fields are set once.
type wire struct {
	retrieve  func(context.Context) (aws.Credentials, error) // a function shows nothing when it is printed
	signer    *v4.Signer
	region    string
	host      string
	base      string // the URL up to the operation
	transport http.RoundTripper
	maxBody   int64
}

// exchange is one request: what was seen of it.
type exchange struct {
	keys   aws.Credentials // those that signed it
	sent   bool
	status int // 0: none came
	header http.Header
	body   io.Reader // of the answer: fails with errTooBig behind the limit
}

// post sends body, signed, and hands the answer to read, whatever its status.
func (w wire) post(ctx context.Context, ex *exchange, operation string, body []byte, read func() error) error {
	if err := errors.Join(ctx.Err(), network.Check(w.host)); err != nil {
		return err
	}
	r, err := w.request(ctx, ex, operation, body)
	if err != nil {
		return err
	}
	ex.sent = true
	resp, err := w.transport.RoundTrip(r) // not a Client: it would follow redirects
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	ex.status, ex.header = resp.StatusCode, resp.Header
	ex.body = &limitedReader{r: resp.Body, left: w.maxBody}
	return read()
}

// request returns a request with its signature. Nothing may change it any more.
func (w wire) request(ctx context.Context, ex *exchange, operation string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+operation, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	accept := "Accept"
	if strings.HasSuffix(operation, "stream") {
		accept = "X-Amzn-Bedrock-Accept" // what is in the events
	}
	r.Header.Set(accept, "application/json")
	if ex.keys, err = w.retrieve(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", errCredentials, err)
	}
	sum := sha256.Sum256(body)
	if err := w.signer.SignHTTP(ctx, ex.keys, r, hex.EncodeToString(sum[:]), "bedrock", w.region, time.Now()); err != nil {
		return nil, fmt.Errorf("sign request: %w", err)
	}
	return r, nil
}

// escape returns a model's ID as it stands in a path: ARNs have slashes.
func escape(id string) string { return httpbinding.EscapePath(id, true) }

// limitedReader fails with errTooBig after left bytes, where io.LimitReader would
// pretend that there is no more.
type limitedReader struct {
	r    io.Reader
	left int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, errTooBig
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1] // one more, to see whether there is more
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, errTooBig
	}
	return n, err
}
