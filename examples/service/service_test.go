package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// process is one start of the service.
type process struct {
	t      *testing.T
	server *server
	web    *httptest.Server
	close  func()
}

// boot starts the service on a file.
func boot(t *testing.T, db string, agents agent.Roster) process {
	t.Helper()
	store, err := sqlite.Open(db)
	require.NoError(t, err)
	s, err := open(t.Context(), agents, store, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	web := httptest.NewServer(s.routes())
	return process{t, s, web, func() {
		web.CloseClientConnections()
		assert.NoError(t, s.engine.Close(context.WithoutCancel(t.Context())))
		web.Close()
		assert.NoError(t, store.Close())
	}}
}

func (p process) do(method, path, body string, header ...string) *http.Response {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.web.URL+path, strings.NewReader(body))
	require.NoError(p.t, err)
	if method == http.MethodPost && path == "/runs" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// read is the status and the body of a request.
func (p process) read(method, path, body string, header ...string) (int, string) {
	p.t.Helper()
	resp := p.do(method, path, body, header...)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err)
	return resp.StatusCode, string(data)
}

func (p process) start(id, prompt string) string {
	p.t.Helper()
	status, body := p.read("POST", "/runs", url.Values{"prompt": {prompt}}.Encode(), "Idempotency-Key", id)
	require.Equal(p.t, http.StatusAccepted, status, body)
	return strings.TrimSpace(body)
}

// event is one server-sent event.
type event struct {
	id, kind string
	rec      runlog.Record
}

// until reads the stream after the event last up to one of that kind.
func (p process) until(run, last, kind string) []event {
	p.t.Helper()
	resp := p.do("GET", "/runs/"+run+"/events", "", "Last-Event-ID", last)
	require.Equal(p.t, "text/event-stream", resp.Header.Get("Content-Type"))
	defer func() { _ = resp.Body.Close() }()
	var all []event
	var e event
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			require.NoError(p.t, json.Unmarshal([]byte(value), &e.rec))
		case "":
			all = append(all, e)
			if e.kind == kind {
				return all
			}
			e = event{}
		}
	}
	p.t.Fatalf("the stream ended before an event %q", kind)
	return nil
}

func (p process) outcome(run string) Outcome {
	p.t.Helper()
	status, body := p.read("GET", "/runs/"+run+"/outcome", "")
	require.Equal(p.t, http.StatusOK, status, body)
	var out Outcome
	require.NoError(p.t, json.Unmarshal([]byte(body), &out))
	return out
}

func TestStreamAndAnswer(t *testing.T) {
	p := boot(t, filepath.Join(t.TempDir(), "runs.db"), scripted())
	defer p.close()
	run := p.start("order-1", "A text with a picture")
	assert.Equal(t, run, p.start("order-1", "A text with a picture"), "the same key is the same run")

	seen := p.until(run, "", runlog.Asked)
	assert.Equal(t, runlog.Started, seen[0].kind)
	for _, e := range seen {
		if e.kind == runlog.Called {
			assert.Empty(t, e.rec.Data, "answers of models are not for browsers")
		}
	}
	again := p.until(run, seen[2].id, runlog.Asked)
	assert.Equal(t, seen[3:], again, "behind the Last-Event-ID")

	_, body := p.read("GET", "/runs/"+run, "")
	assert.Contains(t, body, `"timeout":"168h0m0s"`)
	var info orchestrator.Info
	require.NoError(t, json.Unmarshal([]byte(body), &info))
	require.Len(t, info.Questions, 1)
	assert.Equal(t, "Publish the result?", info.Questions[0].Text)
	_, body = p.read("GET", "/runs/"+run+"/state", "")
	var state hierarchy.State
	require.NoError(t, json.Unmarshal([]byte(body), &state))
	assert.Len(t, state.Departments, 2)

	status, body := p.read("POST", "/runs/"+run+"/answers/"+question, `"perhaps"`)
	assert.Equal(t, http.StatusBadRequest, status, body)
	status, body = p.read("POST", "/runs/"+run+"/answers/"+question, `{`)
	assert.Equal(t, http.StatusBadRequest, status, body)
	status, body = p.read("POST", "/runs/"+run+"/answers/"+question, `true`, "If-Match", `"another"`)
	assert.Equal(t, http.StatusPreconditionFailed, status, body)
	status, body = p.read("POST", "/runs/"+run+"/answers/publsh", `true`)
	assert.Equal(t, http.StatusConflict, status, body)
	assert.Contains(t, body, `"publish" is open`)
	assert.Equal(t, 7*24*time.Hour, info.Questions[0].Timeout)
	status, body = p.read("POST", "/runs/"+run+"/answers/"+question, `true`, "X-User", "ann", "If-Match", `"`+info.Questions[0].Hash+`"`)
	assert.Equal(t, http.StatusNoContent, status, body)
	status, body = p.read("POST", "/runs/"+run+"/answers/"+question, `false`)
	assert.Equal(t, http.StatusConflict, status, body)

	out := p.outcome(run)
	assert.True(t, out.Published)
	assert.Equal(t, orchestrator.Completed, out.Status)
	require.Len(t, out.Reports, 2)
	assert.Equal(t, "Some words, scripted.", hierarchy.Text(out.Reports[0].Output))
	p.until(run, again[len(again)-1].id, runlog.Ended)
}

// held is a roster whose second department waits until it is stopped; reached is
// closed when it is asked.
func held() (agents agent.Roster, reached chan struct{}) {
	reached = make(chan struct{})
	agents = scripted()
	agents["pictures-head"] = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		close(reached)
		<-ctx.Done()
		return agent.Response{}, ctx.Err()
	})
	return agents, reached
}

func TestCancel(t *testing.T) {
	agents, reached := held()
	p := boot(t, filepath.Join(t.TempDir(), "runs.db"), agents)
	defer p.close()
	run := p.start("order-2", "A text with a picture")
	<-reached
	status, body := p.read("DELETE", "/runs/"+run, "")
	require.Equal(t, http.StatusNoContent, status, body)
	out := p.outcome(run)
	assert.Equal(t, orchestrator.Canceled, out.Status)
	require.Len(t, out.Reports, 2)
	assert.Equal(t, hierarchy.DepartmentDone, out.Reports[0].Status, "what was finished is there")
}

func TestRestartResumes(t *testing.T) {
	db := filepath.Join(t.TempDir(), "runs.db")
	agents, reached := held()
	first := boot(t, db, agents)
	run := first.start("order-3", "A text with a picture")
	<-reached
	first.close()

	agents = scripted()
	agents["words-head"] = agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		t.Error("a recorded call was made again")
		return agent.Response{}, nil
	})
	second := boot(t, db, agents)
	seen := second.until(run, "", runlog.Asked)
	second.close() // it waits for a person

	third := boot(t, db, agent.Roster{"words-head": agents["words-head"], "pictures-head": agents["words-head"]})
	defer third.close()
	status, body := third.read("POST", "/runs/"+run+"/answers/"+question, `true`)
	require.Equal(t, http.StatusNoContent, status, body)
	out := third.outcome(run)
	assert.True(t, out.Published)
	assert.Equal(t, orchestrator.Completed, out.Status)
	more := third.until(run, seen[len(seen)-1].id, runlog.Ended)
	assert.Equal(t, runlog.Resumed, more[0].kind)
}

// The runs of a process that ends later are resumed, too, without a request.
func TestRunsOfAnotherProcessAreResumed(t *testing.T) {
	db := filepath.Join(t.TempDir(), "runs.db")
	agents, reached := held()
	first := boot(t, db, agents)
	run := first.start("order-6", "A text with a picture")
	<-reached
	second := boot(t, db, scripted())
	defer second.close()
	_, body := second.read("GET", "/runs/"+run, "")
	var info orchestrator.Info
	require.NoError(t, json.Unmarshal([]byte(body), &info))
	assert.Equal(t, orchestrator.Running, info.Status, "the first process works on it")
	first.close()
	second.until(run, "", runlog.Asked)
}

// started is the service as a process of its own.
type started struct {
	process
	kill func()
}

// startProgram starts the built service and waits until it listens.
func startProgram(t *testing.T, program, db string) started {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "-addr", "127.0.0.1:0", "-db", db)
	logged, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(logged)
	for lines.Scan() {
		if _, addr, ok := strings.Cut(lines.Text(), "msg=listening addr="); ok {
			web := &httptest.Server{URL: "http://" + addr}
			return started{process{t: t, web: web}, func() {
				require.NoError(t, cmd.Process.Kill())
				require.Error(t, cmd.Wait())
			}}
		}
	}
	t.Fatal("the service ended before it listened")
	return started{}
}

// A service that is killed and started again needs no other request than the answer.
func TestKilledWhileItAsks(t *testing.T) {
	program, db := filepath.Join(t.TempDir(), "service"), filepath.Join(t.TempDir(), "runs.db")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	first := startProgram(t, program, db)
	run := first.start("order-7", "A text with a picture")
	seen := first.until(run, "", runlog.Asked)
	first.kill()

	second := startProgram(t, program, db)
	defer second.kill()
	status, body := second.read("POST", "/runs/"+run+"/answers/"+question, `true`)
	require.Equal(t, http.StatusNoContent, status, body)
	more := second.until(run, seen[len(seen)-1].id, runlog.Ended)
	for _, e := range more {
		assert.NotEqual(t, runlog.Called, e.kind, "no recorded call is made again")
	}
	assert.True(t, second.outcome(run).Published)
}

func TestBadRequests(t *testing.T) {
	p := boot(t, filepath.Join(t.TempDir(), "runs.db"), scripted())
	defer p.close()
	status, body := p.read("GET", "/runs/nobody", "")
	assert.Equal(t, http.StatusNotFound, status, body)
	for form, why := range map[string]string{
		"": "no prompt", "prompt=+": "no prompt", `{"prompt":"x"}`: "JSON needs the Content-Type application/json", "prompt=%zz": "cannot be read", "prompt=" + strings.Repeat("x", maxBody): "too large",
	} {
		status, body = p.read("POST", "/runs", form, "Idempotency-Key", "order-5")
		assert.Equal(t, http.StatusBadRequest, status)
		assert.Contains(t, body, why)
	}
	for body, why := range map[string]string{"": "cannot be read", "{}": "no prompt", `{"prompt": 1}`: "cannot be read", `{"promt": "x"}`: "promt"} {
		status, said := p.read("POST", "/runs", body, "Idempotency-Key", "order-5", "Content-Type", "application/json")
		assert.Equal(t, http.StatusBadRequest, status, body)
		assert.Contains(t, said, why)
	}
	status, body = p.read("POST", "/runs", "a text", "Content-Type", "text/plain")
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, body, `Content-Type is "text/plain", want a form with prompt=..., or application/json`)
	status, _ = p.read("GET", "/runs/order-5", "")
	assert.Equal(t, http.StatusNotFound, status, "no run came of it")
	run := p.start("order-4", "A text")
	status, body = p.read("POST", "/runs", "prompt=other", "Idempotency-Key", run)
	assert.Equal(t, http.StatusConflict, status, body)
	status, body = p.read("GET", "/runs/"+run+"/events", "", "Last-Event-ID", "x")
	assert.Equal(t, http.StatusBadRequest, status, body)
}

func TestList(t *testing.T) {
	p := boot(t, filepath.Join(t.TempDir(), "runs.db"), scripted())
	defer p.close()
	list := func(query string) (ids []string) {
		status, body := p.read("GET", "/runs"+query, "")
		require.Equal(t, http.StatusOK, status, body)
		var got struct{ Runs []orchestrator.Info }
		require.NoError(t, json.Unmarshal([]byte(body), &got))
		for _, info := range got.Runs {
			ids = append(ids, info.ID)
		}
		return ids
	}
	_, body := p.read("GET", "/runs", "")
	assert.JSONEq(t, `{"runs":[]}`, body)
	status, body := p.read("POST", "/runs", `{"prompt": "A text"}`, "Content-Type", "application/json; charset=utf-8", "Idempotency-Key", "b")
	require.Equal(t, http.StatusAccepted, status, body)
	p.until("b", "", runlog.Asked)
	p.start("a", "A picture")
	p.until("a", "", runlog.Asked)
	assert.ElementsMatch(t, []string{"a", "b"}, list(""))
	first := list("?limit=1")
	require.Len(t, first, 1)
	assert.ElementsMatch(t, []string{"a", "b"}, append(first, list("?after="+first[0])...))
	for _, wrong := range []string{"0", "x", "1001"} {
		status, body := p.read("GET", "/runs?limit="+wrong, "")
		assert.Equal(t, http.StatusBadRequest, status, body)
	}
}

// A service whose address is taken leaves the runs of the file alone.
func TestAddressIsTaken(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	db := filepath.Join(t.TempDir(), "runs.db")
	require.ErrorContains(t, serve(t.Context(), l.Addr().String(), db, slog.New(slog.DiscardHandler)), "address already in use")
	assert.NoFileExists(t, db)
}

func TestServeShutsDown(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- serve(ctx, "127.0.0.1:0", filepath.Join(t.TempDir(), "runs.db"), slog.New(slog.NewTextHandler(w, nil)))
	}()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listening") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, w.Close())
}
