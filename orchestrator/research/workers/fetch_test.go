package workers_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/research/workers"
)

func TestFetch(t *testing.T) {
	var agents []string
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agents = append(agents, r.URL.Path+" "+r.UserAgent())
		switch r.URL.Path {
		case "/from":
			http.Redirect(w, r, "/to?a=b#c", http.StatusMovedPermanently)
		default:
			site{"/to": page("Bridges")}.ServeHTTP(w, r)
		}
	}))
	p, err := scraperOf(t, workers.ScraperConfig{UserAgent: "acme/1"}, s).Fetch(t.Context(), s.URL+"/from")
	require.NoError(t, err)
	assert.Equal(t, workers.Page{
		URL: s.URL + "/to?a=b", Title: "Bridges", Text: "A sentence about Bridges, with commas, and long enough to be read.",
	}, p)
	assert.Equal(t, []string{"/robots.txt acme/1", "/from acme/1", "/to acme/1"}, agents)
}

func TestFetchStatus(t *testing.T) {
	tests := []struct {
		status int
		after  string
		again  bool
		wait   time.Duration
	}{
		{status: 204},
		{status: 304},
		{status: 400},
		{status: 401},
		{status: 403},
		{status: 404},
		{status: 410},
		{status: 408, again: true},
		{status: 429, again: true},
		{status: 429, after: "7", again: true, wait: 7 * time.Second},
		{status: 503, after: "120", again: true, wait: 2 * time.Minute},
		{status: 503, after: "Sat, 01 Jan 2000 00:00:30 GMT", again: true, wait: 30 * time.Second},
		{status: 503, after: "Fri, 31 Dec 1999 00:00:00 GMT", again: true},
		{status: 503, after: "soon", again: true},
		{status: 503, after: "-5", again: true},
		{status: 503, after: "121"},
		{status: 503, after: "99999999999999999999", again: true},
		{status: 500, again: true},
		{status: 502, again: true},
		{status: 504, again: true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d %s", tt.status, tt.after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // it is midnight, 1 January 2000
				w := scraperOf(t, workers.ScraperConfig{IgnoreRobots: true, Client: client(func(*http.Request) (*http.Response, error) {
					return reply(tt.status, "text/html", page("x"), "Retry-After", tt.after), nil
				})})
				_, err := w.Fetch(t.Context(), "https://example.com/")
				require.ErrorContains(t, err, fmt.Sprintf("status %d", tt.status))
				if !tt.again {
					isFinal(t, err)
					return
				}
				assert.Equal(t, tt.wait, isTransient(t, err).RetryAfter)
			})
		})
	}
}

func TestFetchBroken(t *testing.T) {
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, page("half of it"))
	}))
	_, err := scraperOf(t, workers.ScraperConfig{}, s).Fetch(t.Context(), s.URL)
	isTransient(t, err)

	gone := serve(t, site{})
	w := scraperOf(t, workers.ScraperConfig{IgnoreRobots: true}, gone)
	gone.Close()
	_, err = w.Fetch(t.Context(), gone.URL)
	isTransient(t, err)

	unknown := scraperOf(t, workers.ScraperConfig{IgnoreRobots: true, Client: client(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}
	})})
	_, err = unknown.Fetch(t.Context(), "https://nowhere.example/")
	isFinal(t, err)

	tls := httptest.NewUnstartedServer(site{"/": page("x")})
	tls.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	_, err = scraperOf(t, workers.ScraperConfig{}, tls).Fetch(t.Context(), tls.URL)
	isFinal(t, err)
	assert.ErrorContains(t, err, "certificate")
	p, err := scraperOf(t, workers.ScraperConfig{Client: tls.Client()}, tls).Fetch(t.Context(), tls.URL)
	require.NoError(t, err, "the host's client is asked whom to trust")
	assert.Equal(t, "x", p.Title)
}

func TestFetchForbidden(t *testing.T) {
	s := serve(t, site{"/": page("secret")})
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	resolveTo(t, "127.0.0.1", "127.0.0.1") // as resolvers do that take numbers for addresses
	tests := []struct{ name, address string }{
		{"a literal address", s.URL},
		{"a name of this machine", "http://localhost:" + port},
		{"hexadecimal", "http://0x7f000001:" + port},
		{"an IPv4 address as IPv6", "http://[::ffff:127.0.0.1]:" + port},
		{"unspecified", "http://0.0.0.0:" + port},
		{"unspecified IPv6", "http://[::]:" + port},
		{"where clouds keep credentials", "http://169.254.169.254/latest/meta-data"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := workers.NewWebScraper(workers.ScraperConfig{Access: workers.Access{Ports: []uint16{portOf(t, s)}}})
			require.NoError(t, err)
			_, err = w.Fetch(t.Context(), tt.address)
			isFinal(t, err)
			require.ErrorIs(t, err, workers.ErrAddress)
		})
	}
	t.Run("another port", func(t *testing.T) {
		w, err := workers.NewWebScraper(workers.ScraperConfig{Access: workers.Access{AllowPrivate: []netip.Prefix{here}}})
		require.NoError(t, err)
		_, err = w.Fetch(t.Context(), s.URL)
		require.ErrorIs(t, err, workers.ErrAddress)
		require.ErrorContains(t, err, "port")
	})
	t.Run("past the guard of a transport of the host's", func(t *testing.T) {
		var d net.Dialer
		dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
			return d.DialContext(ctx, network, s.Listener.Addr().String())
		}
		past := &http.Transport{
			DialContext: dial, DialTLSContext: dial,
			Dial:    func(network, _ string) (net.Conn, error) { return dial(t.Context(), network, "") }, //nolint:staticcheck // hosts may still set it
			DialTLS: func(network, _ string) (net.Conn, error) { return dial(t.Context(), network, "") }, //nolint:staticcheck // the same
		}
		w := scraperOf(t, workers.ScraperConfig{Client: &http.Client{Transport: past}})
		for _, scheme := range []string{"http", "https"} {
			_, err := w.Fetch(t.Context(), scheme+"://localhost/")
			require.ErrorIs(t, err, workers.ErrAddress, scheme)
		}
	})
}

// A proxy would go where it is told to.
func TestFetchUsesNoProxy(t *testing.T) {
	s := serve(t, site{"/": page("by proxy")})
	resolveTo(t, "127.0.0.2", "127.0.0.2")
	w := scraperOf(t, workers.ScraperConfig{Client: &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(must(t, s.URL))}}}, s)
	_, err := w.Fetch(t.Context(), "http://inside.example/")
	require.ErrorIs(t, err, workers.ErrAddress)
}

// A redirect is an address like any other.
func TestFetchRedirects(t *testing.T) {
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.NotFound(w, r)
		case "/hops":
			n := len(r.URL.Query().Get("n"))
			w.Header().Set("Location", "/hops?n="+strings.Repeat("x", n-1))
			if n == 1 {
				w.Header().Set("Location", "/end")
			}
			w.WriteHeader(http.StatusFound)
		case "/far":
			http.Redirect(w, r, "/"+strings.Repeat("a", 5000), http.StatusFound)
		case "/end", "/" + strings.Repeat("a", 5000):
			_, _ = io.WriteString(w, page("the end"))
		default:
			w.Header()["Location"] = []string{r.URL.Query().Get("to")}
			w.WriteHeader(http.StatusFound)
		}
	}))
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	w := scraperOf(t, workers.ScraperConfig{}, s)
	to := func(address string) string {
		return s.URL + "/?to=" + strings.NewReplacer("%", "%25", "#", "%23", "&", "%26").Replace(address)
	}
	for _, address := range []string{
		"http://127.0.0.2:" + port + "/end", "http://localhost.:22/", "http://[::1]:" + port + "/end", "//10.0.0.1/", "http://169.254.169.254/latest/",
		"file:///etc/passwd", "ftp://example.com/", "http://user:word@127.0.0.1:" + port + "/end", "javascript:1", "data:text/html,hi",
		"http://[fe80::1%25lo]/", "http://100.100.100.200/",
	} {
		_, err := w.Fetch(t.Context(), to(address))
		isFinal(t, err)
		require.ErrorIs(t, err, workers.ErrAddress, address)
	}
	_, err = w.Fetch(t.Context(), to("http://[::1"))
	require.Error(t, err)
	for _, address := range []string{to(""), s.URL + "/far"} {
		_, err := w.Fetch(t.Context(), address)
		isFinal(t, err)
		require.ErrorContains(t, err, "redirects to no address")
	}
	_, err = w.Fetch(t.Context(), s.URL+"/?to=/") // to itself
	require.ErrorContains(t, err, "redirects")
	_, err = w.Fetch(t.Context(), s.URL+"/hops?n=xxxxx")
	require.NoError(t, err, "five times")
	_, err = w.Fetch(t.Context(), s.URL+"/hops?n=xxxxxx")
	isFinal(t, err)
	require.ErrorContains(t, err, "redirects more than 5 times")
}

// A name that leads somewhere else when it is asked again gains nothing: what counts is
// where the connection goes.
func TestFetchRebinding(t *testing.T) {
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // each request is a connection, for which the name is resolved
		site{"/": page("x")}.ServeHTTP(w, r)
	}))
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	asked := resolveTo(t, "127.0.0.1", "127.0.0.2")
	_, err = scraperOf(t, workers.ScraperConfig{}, s).Fetch(t.Context(), "http://pages.example:"+port+"/")
	isFinal(t, err)
	require.ErrorIs(t, err, workers.ErrAddress)
	require.ErrorContains(t, err, "127.0.0.2 is not public")
	assert.Equal(t, int64(2), asked.Load(), "for robots.txt, and for the page")
}
