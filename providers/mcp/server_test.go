package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers/mcp"
)

func TestServerThatDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.add("work", says(&sdk.TextContent{Text: "fine"}))
		h.add("die", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			h.die()
			return &sdk.CallToolResult{}, nil
		})
		tools := all(t, open(t, h))
		_, err := tools["die"].Call(t.Context(), json.RawMessage(`{}`))
		require.ErrorIs(t, err, mcp.ErrGone)
		require.ErrorContains(t, err, `tool "die": the connection to the server ended before the result`)
		assert.False(t, agent.ErrorOf(err).Transient, "it may have done its work")

		got, err := tools["work"].Call(t.Context(), json.RawMessage(`{}`))
		require.NoError(t, err)
		assert.Equal(t, "fine", got, "over a new connection")
		assert.Equal(t, 2, h.dials())

		h.die()
		synctest.Wait()
		_, err = tools["work"].Call(t.Context(), json.RawMessage(`{}`))
		require.NoError(t, err, "one that died between calls is not missed")
		assert.Equal(t, 3, h.dials())
	})
}

func TestServerThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.add("work", says(&sdk.TextContent{Text: "fine"}))
		away := errors.New("connection refused")
		_, err := mcp.Open(t.Context(), mcp.DialFunc(func(context.Context) (sdk.Transport, error) { return nil, away }))
		require.EqualError(t, err, "mcp: connect: connection refused")
		assert.True(t, agent.ErrorOf(err).Transient, "nothing was asked of it")
		_, err = mcp.Open(t.Context(), nil)
		require.EqualError(t, err, "mcp: the Dialer is nil")

		var gone error
		s := open(t, mcp.DialFunc(func(ctx context.Context) (sdk.Transport, error) {
			if gone != nil {
				return nil, gone
			}
			return h.Dial(ctx)
		}))
		tool := all(t, s)["work"]
		gone = away
		h.die()
		synctest.Wait()
		_, err = tool.Call(t.Context(), json.RawMessage(`{}`))
		require.EqualError(t, err, "mcp: connect: connection refused")
		gone = nil
		_, err = tool.Call(t.Context(), json.RawMessage(`{}`))
		assert.NoError(t, err, "it is tried again at the next call")
	})
}

func TestCallsConnectOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.add("work", says(&sdk.TextContent{Text: "fine"}))
		tool := all(t, open(t, h))["work"]
		h.die()
		synctest.Wait()
		done := make(chan error)
		for range 10 {
			go func() {
				_, err := tool.Call(t.Context(), json.RawMessage(`{}`))
				done <- err
			}()
		}
		for range 10 {
			assert.NoError(t, <-done)
		}
		assert.Equal(t, 2, h.dials())
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.add("quick", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			<-time.After(time.Second)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "just in time"}}}, nil
		})
		h.add("hang", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		s := open(t, h)
		tools := all(t, s)
		quick, hung := make(chan string), make(chan error)
		go func() {
			got, err := tools["quick"].Call(t.Context(), json.RawMessage(`{}`))
			quick <- fmt.Sprint(got, err)
		}()
		go func() {
			_, err := tools["hang"].Call(t.Context(), json.RawMessage(`{}`))
			hung <- err
		}()
		synctest.Wait()
		begun := time.Now()
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		assert.Equal(t, "just in time<nil>", <-quick)
		require.ErrorIs(t, <-hung, mcp.ErrGone)
		require.NoError(t, <-closed)
		assert.Equal(t, 2*time.Second, time.Since(begun))

		_, err := tools["quick"].Call(t.Context(), json.RawMessage(`{}`))
		require.EqualError(t, err, "mcp: the server is closed")
		_, err = s.Tools(t.Context(), mcp.Choice{})
		require.EqualError(t, err, "mcp: the server is closed")
		assert.NoError(t, s.Close(), "a second time")
		assert.Equal(t, 1, h.dials())
	})
}

func TestCloseWhileConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.add("work", says())
		first := make(chan struct{}, 1)
		first <- struct{}{}
		s := open(t, mcp.DialFunc(func(ctx context.Context) (sdk.Transport, error) {
			select {
			case <-first:
				return h.Dial(ctx)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}))
		tool := all(t, s)["work"]
		h.die()
		synctest.Wait()
		called := make(chan error)
		go func() {
			_, err := tool.Call(t.Context(), json.RawMessage(`{}`))
			called <- err
		}()
		synctest.Wait()
		begun := time.Now()
		go func() { _ = s.Close() }()
		require.EqualError(t, <-called, "mcp: the server is closed")
		assert.Zero(t, time.Since(begun))
	})
}

// The connection does not end with the context that Open was given.
func TestContextOfOpenIsForConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.add("work", says(&sdk.TextContent{Text: "fine"}))
		ctx, cancel := context.WithCancel(t.Context())
		s, err := mcp.Open(ctx, h)
		require.NoError(t, err)
		tool := all(t, s)["work"]
		cancel()
		synctest.Wait()
		_, err = tool.Call(t.Context(), json.RawMessage(`{}`))
		require.NoError(t, err)
		assert.Equal(t, 1, h.dials())
		require.NoError(t, s.Close())
	})
}

// raw is a server that a test writes line by line.
func raw(serve func(read *json.Decoder, write io.Writer)) mcp.Dialer {
	return mcp.DialFunc(func(context.Context) (sdk.Transport, error) {
		there, here := net.Pipe()
		go func() {
			serve(json.NewDecoder(there), there)
			_ = there.Close()
		}()
		return &sdk.IOTransport{Reader: here, Writer: here}, nil
	})
}

type request struct {
	ID     json.RawMessage
	Method string
}

// handshake answers until the client has asked for the tools.
func handshake(read *json.Decoder, write io.Writer) bool {
	for {
		var r request
		if read.Decode(&r) != nil {
			return false
		}
		switch r.Method {
		case "initialize":
			_, _ = fmt.Fprintf(write, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`+"\n", r.ID)
		case "tools/list":
			_, _ = fmt.Fprintf(write, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}}`+"\n", r.ID)
			return true
		default:
			if r.ID != nil {
				_, _ = fmt.Fprintf(write, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not here"}}`+"\n", r.ID)
			}
		}
	}
}

// A program that does not read does not delay canceled calls.
func TestServerThatDoesNotRead(t *testing.T) {
	t.Run("a call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			stuck := make(chan struct{})
			tool := all(t, open(t, raw(func(read *json.Decoder, write io.Writer) {
				if handshake(read, write) {
					<-stuck
				}
			})))["work"]
			defer close(stuck)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begun := time.Now()
			_, err := tool.Call(ctx, json.RawMessage(`{}`))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, time.Minute+2*time.Second, time.Since(begun))
		})
	})
	t.Run("Open", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			stuck := make(chan struct{})
			defer close(stuck)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begun := time.Now()
			_, err := mcp.Open(ctx, raw(func(*json.Decoder, io.Writer) { <-stuck }))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, time.Minute, time.Since(begun))
		})
	})
	t.Run("another caller's connecting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(nil)
			h.add("work", says())
			slow := make(chan struct{}, 1)
			slow <- struct{}{}
			tool := all(t, open(t, mcp.DialFunc(func(ctx context.Context) (sdk.Transport, error) {
				select {
				case <-slow:
					return h.Dial(ctx)
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			})))["work"]
			h.die()
			synctest.Wait()
			first, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			done := make(chan error)
			go func() {
				_, err := tool.Call(first, json.RawMessage(`{}`))
				done <- err
			}()
			synctest.Wait()
			second, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begun := time.Now()
			_, err := tool.Call(second, json.RawMessage(`{}`))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, time.Minute, time.Since(begun))
			assert.ErrorIs(t, <-done, context.DeadlineExceeded)
		})
	})
}

func TestMessageThatIsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrote := 0
		tool := all(t, open(t, raw(func(read *json.Decoder, write io.Writer) {
			if !handshake(read, write) {
				return
			}
			var r request
			_ = read.Decode(&r)
			_, _ = fmt.Fprintf(write, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, r.ID)
			chunk := []byte(strings.Repeat("x", 1<<20))
			for {
				n, err := write.Write(chunk)
				wrote += n
				if err != nil {
					return
				}
			}
		})))["work"]
		_, err := tool.Call(t.Context(), json.RawMessage(`{}`))
		require.ErrorIs(t, err, mcp.ErrGone)
		synctest.Wait()
		assert.LessOrEqual(t, wrote, mcp.MaxMessage)
	})
}

func TestNonsense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool := all(t, open(t, raw(func(read *json.Decoder, write io.Writer) {
			if !handshake(read, write) {
				return
			}
			var r request
			_ = read.Decode(&r)
			_, _ = io.WriteString(write, "Traceback (most recent call last):\n")
			_ = read.Decode(&r)
		})))["work"]
		_, err := tool.Call(t.Context(), json.RawMessage(`{}`))
		assert.ErrorIs(t, err, mcp.ErrGone)
	})
}
