package workers_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research/workers"
)

// bomb is gzip of so many zeros.
func bomb(t *testing.T, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.CopyN(z, zeros{}, size)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// endless writes until the client disconnects.
func endless(w io.Writer, text string) {
	for {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

// hostile are answers that no worker may fail to handle, and their errors.
func hostile(t *testing.T) map[string]struct {
	answer http.HandlerFunc
	want   string
} {
	t.Helper()
	packed := bomb(t, 16<<20)
	type h = struct {
		answer http.HandlerFunc
		want   string
	}
	return map[string]h{
		"a body without end": {func(w http.ResponseWriter, _ *http.Request) { endless(w, "<p>more ") }, "longer than"},
		"one GiB, it says":   {announce, "longer than"},
		"a bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed)
		}, "longer than"},
		"packed twice": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip, gzip")
			_, _ = w.Write(packed)
		}, "encoding"},
		"packed in another way": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = w.Write(packed)
		}, "encoding"},
		"packed badly": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("this is not gzip at all"))
		}, "gzip"},
		"a header without end": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-A", strings.Repeat("a", 300<<10)) }, "header"},
	}
}

// announce says that a GiB follows, and sends nothing until the other side gives up.
func announce(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "1073741824")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func TestFetchHostile(t *testing.T) {
	for name, h := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			s := serve(t, h.answer)
			_, err := scraperOf(t, workers.ScraperConfig{IgnoreRobots: true}, s).Fetch(t.Context(), s.URL)
			require.ErrorContains(t, err, h.want)
			if name != "packed badly" && name != "a header without end" {
				isFinal(t, err)
			}
		})
	}
	t.Run("a header without end, with a transport of the host's", func(t *testing.T) {
		s := serve(t, hostile(t)["a header without end"].answer)
		_, err := scraperOf(t, workers.ScraperConfig{IgnoreRobots: true, Client: &http.Client{Transport: &http.Transport{}}}, s).Fetch(t.Context(), s.URL)
		require.ErrorContains(t, err, "header")
	})
	t.Run("a robots.txt without end", func(t *testing.T) {
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\n")
				endless(w, "# more\n")
				return
			}
			_, _ = io.WriteString(w, page("x"))
		}))
		w := scraperOf(t, workers.ScraperConfig{}, s)
		_, err := w.Fetch(t.Context(), s.URL+"/private")
		require.ErrorIs(t, err, workers.ErrRobots)
		_, err = w.Fetch(t.Context(), s.URL+"/")
		require.NoError(t, err)
	})
	t.Run("as long as it may be, and a byte more", func(t *testing.T) {
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, strings.Repeat("a", 1000))
			w.(http.Flusher).Flush() // so that no length is announced
			_, _ = io.WriteString(w, strings.TrimPrefix(r.URL.Path, "/"))
		}))
		w := scraperOf(t, workers.ScraperConfig{IgnoreRobots: true, Limits: workers.ScraperLimits{PageBytes: 1000}}, s)
		_, err := w.Fetch(t.Context(), s.URL)
		require.NoError(t, err)
		_, err = w.Fetch(t.Context(), s.URL+"/b")
		isFinal(t, err)
		require.ErrorContains(t, err, "longer than 1000 bytes")
	})
}

// Reading from a server that sends a byte now and then ends with the time for a page.
func TestFetchSlowLoris(t *testing.T) {
	t.Run("in its body", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := scraperOf(t, workers.ScraperConfig{IgnoreRobots: true, Client: client(func(r *http.Request) (*http.Response, error) {
				resp := reply(http.StatusOK, "text/html", "")
				resp.Body = io.NopCloser(&drip{ctx: r.Context()})
				return resp, nil
			})})
			begun := time.Now()
			_, err := w.Fetch(t.Context(), "https://example.com/")
			isTransient(t, err)
			require.ErrorContains(t, err, "it took longer than 20s")
			assert.Equal(t, 20*time.Second, time.Since(begun))
		})
	})
	t.Run("in its robots.txt, which counts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := scraperOf(t, workers.ScraperConfig{Limits: workers.ScraperLimits{PageTime: 5 * time.Second}, Client: client(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/robots.txt" {
					<-time.After(3 * time.Second)
					return reply(http.StatusNotFound, "text/html", ""), nil
				}
				<-r.Context().Done()
				return nil, r.Context().Err()
			})})
			begun := time.Now()
			_, err := w.Fetch(t.Context(), "https://example.com/")
			isTransient(t, err)
			assert.Equal(t, 5*time.Second, time.Since(begun))
		})
	})
	t.Run("in its header, over a real connection", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			_, _ = io.Copy(io.Discard, conn) // until the other side leaves
			_ = conn.Close()
		}()
		w, err := workers.NewWebScraper(workers.ScraperConfig{
			IgnoreRobots: true, Limits: workers.ScraperLimits{PageTime: 50 * time.Millisecond},
			Access: workers.Access{AllowPrivate: []netip.Prefix{here}, Ports: []uint16{uint16(l.Addr().(*net.TCPAddr).Port)}},
		})
		require.NoError(t, err)
		_, err = w.Fetch(t.Context(), "http://"+l.Addr().String()+"/")
		isTransient(t, err)
		require.NoError(t, l.Close())
		<-done // the connection was closed
	})
}

// drip sends a byte a second until the client disconnects.
type drip struct {
	ctx context.Context //nolint:containedctx // a body is read without one
}

func (d *drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		p[0] = ' '
		return 1, nil
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

func TestFetchCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	_, err := scraperOf(t, workers.ScraperConfig{}, s).Fetch(ctx, s.URL)
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, agent.ErrorOf(err).Transient, "a canceled call is not retried")
}

// A call leaves no open connection.
func TestFetchLeavesNoConnection(t *testing.T) {
	closed := make(chan struct{}, 10)
	var opened atomic.Int64
	s := httptest.NewUnstartedServer(site{"/": page("x"), "/robots.txt": ""})
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			opened.Add(1)
		case http.StateClosed:
			closed <- struct{}{}
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	_, err := scraperOf(t, workers.ScraperConfig{}, s).Fetch(t.Context(), s.URL)
	require.NoError(t, err)
	assert.Equal(t, int64(1), opened.Load(), "one connection for a site")
	<-closed
}
