package workers_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/research/workers"
	"github.com/convene-go/convene/providers"
)

// here is the only address that tests allow beside public ones. 127.0.0.2 is this
// machine, too, and stays forbidden.
var here = netip.MustParsePrefix("127.0.0.1/32")

// serve starts a site.
func serve(t *testing.T, site http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(site)
	t.Cleanup(s.Close)
	return s
}

func portOf(t *testing.T, s *httptest.Server) uint16 {
	t.Helper()
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	require.NoError(t, err)
	return uint16(port)
}

// scraperOf is a scraper that may read sites of this machine.
func scraperOf(t *testing.T, cfg workers.ScraperConfig, sites ...*httptest.Server) *workers.WebScraper {
	t.Helper()
	if sites != nil {
		cfg.Access.AllowPrivate = append(cfg.Access.AllowPrivate, here)
	}
	for _, s := range sites {
		cfg.Access.Ports = append(cfg.Access.Ports, portOf(t, s))
	}
	w, err := workers.NewWebScraper(cfg)
	require.NoError(t, err)
	return w
}

// page is a page with a title and a sentence.
func page(title string) string {
	return "<!doctype html><title>" + title + "</title><p>A sentence about " + title + ", with commas, and long enough to be read.</p>"
}

// site are pages by path, as HTML. A path that is not there is a 404.
type site map[string]string

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, ok := s[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

// work is a request of the team.
func work(in research.WorkerInput) agent.Request {
	return agent.Request{Op: "work", Input: agent.JSON(in)}
}

// found are what another worker found.
func found(list ...research.Source) json.RawMessage {
	return agent.JSON(research.Findings{Sources: list})
}

func findingsOf(t *testing.T, resp agent.Response) research.Findings {
	t.Helper()
	var f research.Findings
	require.NoError(t, json.Unmarshal(resp.Data, &f))
	return f
}

// titles are those of sources.
func titles(f research.Findings) []string {
	list := []string{}
	for _, s := range f.Sources {
		list = append(list, s.Title)
	}
	return list
}

// trip is a transport that tests make up.
type trip func(r *http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// client carries requests to f.
func client(f trip) *http.Client { return &http.Client{Transport: f} }

// reply is an answer of a trip.
func reply(status int, kind, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {kind}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, ContentLength: -1, Body: io.NopCloser(strings.NewReader(body))}
}

// isFinal requires an error that must not be retried.
func isFinal(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	assert.ErrorIs(t, err, providers.Permanent)
	assert.False(t, agent.ErrorOf(err).Transient, err)
}

// isTransient requires a transient error, and returns its wait.
func isTransient(t *testing.T, err error) *agent.Error {
	t.Helper()
	require.Error(t, err)
	e := agent.ErrorOf(err)
	assert.True(t, e.Transient, err)
	assert.NotErrorIs(t, err, providers.Permanent)
	return e
}
