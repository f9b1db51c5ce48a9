package browsertest

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serve builds the server of a repository and starts it on an empty board; it returns
// its URL.
func serve(t *testing.T, repo string) string {
	t.Helper()
	server := filepath.Join(t.TempDir(), "server")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", server, ".")
	build.Dir = repo
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), server, "-addr", "localhost:0", "-file", filepath.Join(t.TempDir(), "todos.json"))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		assert.NoError(t, cmd.Wait(), "it ends in order")
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(url)
}

// do is what a user does, each step once the page is ready for it.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, done := context.WithTimeout(b.ctx, time.Minute)
	defer done()
	for i, step := range steps {
		require.NoError(b.t, chromedp.Do(ctx, step), "step %d", i+1)
	}
}

// add makes a todo by the form.
func (b *tab) add(title, due string) {
	b.t.Helper()
	b.do(
		chromedp.Click("#add"), chromedp.SendKeys("#editor [name=title]", title),
		chromedp.SetValue("#editor [name=due_date]", due), chromedp.Click("#editor [value=save]"),
	)
}

func TestTodoBoard(t *testing.T) {
	repo := build(t)
	for _, view := range []struct {
		name          string
		width, height int64
		scheme        string
	}{{"desk", 1200, 800, "light"}, {"phone", 400, 800, "dark"}} {
		t.Run(view.name, func(t *testing.T) { useBoard(t, visit(t, serve(t, repo), view.width, view.height, view.scheme), "todoboard-"+view.name) })
	}
}

func useBoard(t *testing.T, b *tab, name string) {
	t.Helper()
	today := time.Now()
	day := func(days int) string { return today.AddDate(0, 0, days).Format("2006-01-02") }
	const todo, doing, overdue = "[data-status=todo] ", "[data-status=in_progress] ", ".card.overdue"
	assert.Equal(t, boardName, eval[string](b, "document.querySelector('h1').textContent"))

	b.add(evil, day(-1))
	b.do(chromedp.WaitVisible(todo + overdue))
	assert.Equal(t, evil, eval[string](b, "document.querySelector('.card h3').textContent"), "a title is text")
	assert.Equal(t, "rgb(239, 68, 68)", eval[string](b, "getComputedStyle(document.querySelector('.overdue .due')).color"), "#ef4444")
	b.add("Pay the rent", day(0))
	b.do(chromedp.WaitVisible(todo + ".card:nth-child(2)"))
	assert.Equal(t, 1, eval[int](b, "document.querySelectorAll('.overdue').length"), "due today is not overdue")
	if today.Day() != time.Now().Day() {
		t.Skip("midnight: today is another day now")
	}
	b.shoot(name)

	b.do(chromedp.Click(todo+".card:nth-child(1) .right"), chromedp.WaitVisible(doing+overdue))
	b.do(chromedp.Click(doing+".right"), chromedp.WaitVisible("[data-status=done] .card"), chromedp.WaitNotPresent(overdue))
	if b.wide() {
		b.do(chromedp.DragAndDrop(todo+".card", "[data-status=in_progress]"), chromedp.WaitVisible(doing+".card"))
		b.do(chromedp.Click(doing+".left"), chromedp.WaitVisible(todo+".card"))
	}

	b.do(chromedp.Click(todo+".edit"), chromedp.SendKeys("#editor [name=description]", "before noon"), chromedp.Click("#editor [value=save]"))
	b.do(chromedp.WaitVisible(todo + ".description:not(:empty)"))

	b.do(chromedp.Click(todo+".delete"), chromedp.WaitVisible("#confirm"), chromedp.Click("#confirm [value=cancel]"), chromedp.WaitNotVisible("#confirm"))
	assert.Equal(t, "1", eval[string](b, "document.querySelector('[data-status=todo] .count').textContent"), "it was kept")
	b.do(chromedp.Click(todo+".delete"), chromedp.Click("#confirm [value=delete]"), chromedp.WaitNotPresent(todo+".card"))
	b.do(chromedp.Navigate(eval[string](b, "location.href")), chromedp.WaitVisible("[data-status=done] .card"))
	assert.Equal(t, 1, eval[int](b, "document.querySelectorAll('.card').length"), "the file has one todo")

	assert.LessOrEqual(t, eval[float64](b, "document.documentElement.scrollWidth"), eval[float64](b, "innerWidth"), "nothing sticks out")
	assert.Empty(t, b.problems())
}

func (b *tab) wide() bool { return eval[bool](b, "innerWidth > 640") }
const boardName = "Todo Board"
func build(t *testing.T) string { return "/tmp/todo" }
