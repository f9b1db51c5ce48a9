package browsertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var shots = flag.String("screenshots", "", "folder to keep pictures of the pages in")

// browser finds Chromium, or skips the test.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" { //nolint:forbidigo // there, nothing is skipped
		t.Fatal("no Chromium: install the Debian packages chromium and fonts-dejavu-core")
	}
	t.Skip("no Chromium: install it (Debian: apt-get install chromium fonts-dejavu-core) to look at pages")
	return ""
}

// tab is a tab of a browser of its own, with what went wrong and what it asked for.
type tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp's tabs are contexts

	mu     sync.Mutex
	faults []string // of the console, exceptions and dialogs
	asked  []string // URLs
}

// open shows html in a tab of that size, in the color scheme "light" or "dark".
func open(t *testing.T, html string, width, height int64, scheme string) *tab {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(html))
	}))
	t.Cleanup(srv.Close)
	return visit(t, srv.URL+"/", width, height, scheme)
}

// visit is open of the page at a URL.
func visit(t *testing.T, url string, width, height int64, scheme string) *tab {
	t.Helper()
	path := browser(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, leave := chromedp.NewContext(ctx)
	t.Cleanup(leave)
	b := &tab{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	_, err := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(t, err)
	limited, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	require.NoError(t, chromedp.Do(limited, chromedp.EmulateViewport(width, height), chromedp.Navigate(url)))
	return b
}

func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, "exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.faults = append(b.faults, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		b.faults = append(b.faults, fmt.Sprintf("%s: %s (%s)", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *page.EventJavascriptDialogOpening:
		b.faults = append(b.faults, "dialog: "+e.Message)
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	}
}

// problems are what went wrong, but for the icon that browsers look for.
func (b *tab) problems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, f := range b.faults {
		if !strings.Contains(f, "favicon.ico") {
			all = append(all, f)
		}
	}
	return all
}

// outside are the URLs that were asked for but for the page itself.
func (b *tab) outside() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, url := range b.asked {
		if !strings.HasPrefix(url, "http://127.0.0.1:") || strings.Count(url, "/") > 3 && !strings.HasSuffix(url, "/") && !strings.HasSuffix(url, "favicon.ico") {
			all = append(all, url)
		}
	}
	return all
}

// eval is the value of an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err, expression)
	return v
}

// shoot takes a picture of the page; with -screenshots, it is kept in that folder.
func (b *tab) shoot(name string) []byte {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	if *shots != "" {
		require.NoError(b.t, errors.Join(os.MkdirAll(*shots, 0o755), os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644)))
	}
	return png
}
