package storetest

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/convene-go/convene/blackboard/runlog"
)

// messengerFaults are faults of a Messenger.
var messengerFaults = []fault{
	{"all requests go to one engine", "Messenger/Reply", requests(func(ctx context.Context, d *double, _ string, data []byte) ([]byte, error) {
		return d.Memory.Request(ctx, "ann", data)
	})},
	{"requests are text", "Messenger/Reply", requests(func(ctx context.Context, d *double, owner string, data []byte) ([]byte, error) {
		return d.Memory.Request(ctx, owner, bytes.ToValidUTF8(data, nil))
	})},
	{"replies are text", "Messenger/Reply", requests(func(ctx context.Context, d *double, owner string, data []byte) ([]byte, error) {
		reply, err := d.Memory.Request(ctx, owner, data)
		return bytes.Trim(reply, "\n"), err
	})},
	{"handle gets the caller's data", "Messenger/Reply", direct},
	{"requests are cut", "Messenger/Large", requests(func(ctx context.Context, d *double, owner string, data []byte) ([]byte, error) {
		return d.Memory.Request(ctx, owner, data[:min(len(data), 100_000)])
	})},
	{"replies are cut", "Messenger/Large", requests(func(ctx context.Context, d *double, owner string, data []byte) ([]byte, error) {
		reply, err := d.Memory.Request(ctx, owner, data)
		return reply[:min(len(reply), 7000)], err
	})},
	{"one request at a time", "Messenger/SideBySide", func(d *double) {
		var mu sync.Mutex
		requests(func(ctx context.Context, d *double, owner string, data []byte) ([]byte, error) {
			mu.Lock()
			defer mu.Unlock()
			return d.Memory.Request(ctx, owner, data)
		})(d)
	}},
	{"requests without an engine wait", "Messenger/NoReply", requests(func(ctx context.Context, d *double, owner string, data []byte) ([]byte, error) {
		reply, err := d.Memory.Request(ctx, owner, data)
		if errors.Is(err, runlog.ErrNoReply) && string(data) != hello {
			<-ctx.Done()
			err = ctx.Err()
		}
		return reply, err
	})},
	{"an engine that serves no more replies", "Messenger/NoReply", direct},
	{"Request ignores its deadline", "Messenger/Deadline", requests(func(ctx context.Context, d *double, owner string, data []byte) ([]byte, error) {
		return d.Memory.Request(context.WithoutCancel(ctx), owner, data)
	})},
	{"handle has no deadline", "Messenger/Deadline", func(d *double) {
		d.serve = func(ctx context.Context, owner string, handle handler) error {
			return d.Memory.Serve(ctx, owner, func(_ context.Context, data []byte) []byte { return handle(ctx, data) })
		}
	}},
	{"handle outlives Serve", "Messenger/End", func(d *double) {
		d.serve = func(ctx context.Context, owner string, handle handler) error {
			err, served := make(chan error, 1), sync.WaitGroup{}
			served.Go(func() { err <- d.Memory.Serve(ctx, owner, handle) })
			<-ctx.Done()
			return ctx.Err()
		}
	}},
	{"handle does not learn of the end of Serve", "Messenger/End", func(d *double) {
		d.serve = func(ctx context.Context, owner string, handle handler) error {
			return d.Memory.Serve(ctx, owner, func(ctx context.Context, data []byte) []byte { return handle(context.WithoutCancel(ctx), data) })
		}
	}},
	{"a reply behind the end of Serve", "Messenger/End", direct},
	{"Serve does not end", "Messenger/End", func(d *double) {
		d.serve = func(ctx context.Context, owner string, handle handler) error {
			return d.Memory.Serve(context.WithoutCancel(ctx), owner, handle)
		}
	}},
	{"ignores contexts in Request", "Messenger/CanceledContext", requests(func(ctx context.Context, d *double, owner string, data []byte) ([]byte, error) {
		return d.Memory.Request(context.WithoutCancel(ctx), owner, data)
	})},
	{"Serve ends without a word", "Messenger/CanceledContext", func(d *double) {
		d.serve = func(ctx context.Context, owner string, handle handler) error {
			_ = d.Memory.Serve(ctx, owner, handle)
			return nil
		}
	}},
}

// requests replaces Request.
func requests(request func(ctx context.Context, d *double, owner string, data []byte) ([]byte, error)) func(*double) {
	return func(d *double) {
		d.request = func(ctx context.Context, owner string, data []byte) ([]byte, error) {
			return request(ctx, d, owner, data)
		}
	}
}

// direct makes requests call handle directly, also after the end of Serve.
func direct(d *double) {
	var handles sync.Map
	d.serve = func(ctx context.Context, owner string, handle handler) error {
		handles.Store(owner, handle)
		return d.Memory.Serve(ctx, owner, handle)
	}
	d.request = func(ctx context.Context, owner string, data []byte) ([]byte, error) {
		handle, _ := handles.Load(owner)
		if handle, ok := handle.(handler); ok {
			return handle(ctx, data), ctx.Err()
		}
		return d.Memory.Request(ctx, owner, data)
	}
}
