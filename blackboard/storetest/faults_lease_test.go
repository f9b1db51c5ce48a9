package storetest

import (
	"context"
	"time"
)

// leaseFaults are faults of a Leaser.
var leaseFaults = []fault{
	{"a lease for everybody", "Leaser/OneHolder", func(d *double) {
		d.lease = func(ctx context.Context, _, _ string, _ time.Duration) error { return ctx.Err() }
	}},
	{"a lease cannot be prolonged", "Leaser/Prolong", func(d *double) {
		d.lease = func(ctx context.Context, name, owner string, dur time.Duration) error {
			return d.Memory.Lease(ctx, name, owner, min(dur, 1))
		}
	}},
	{"a lease is not given back", "Leaser/GiveBack", func(d *double) {
		d.lease = func(ctx context.Context, name, owner string, dur time.Duration) error {
			if dur <= 0 {
				dur = time.Hour
			}
			return d.Memory.Lease(ctx, name, owner, dur)
		}
	}},
	{"anybody gives a lease back", "Leaser/GiveBackOfAnother", func(d *double) {
		holder := make(map[string]string)
		d.lease = func(ctx context.Context, name, owner string, dur time.Duration) error {
			if dur <= 0 && holder[name] != "" {
				owner = holder[name]
			}
			holder[name] = owner
			return d.Memory.Lease(ctx, name, owner, dur)
		}
	}},
	{"a lease never runs out", "Leaser/RunsOut", func(d *double) {
		d.lease = func(ctx context.Context, name, owner string, dur time.Duration) error {
			if dur > 0 {
				dur = time.Hour
			}
			return d.Memory.Lease(ctx, name, owner, dur)
		}
	}},
	{"ignores contexts in Lease", "Leaser/CanceledContext", func(d *double) {
		d.lease = func(ctx context.Context, name, owner string, dur time.Duration) error {
			return d.Memory.Lease(context.WithoutCancel(ctx), name, owner, dur)
		}
	}},
	{"two leases in a race", "Leaser/OneWins", func(d *double) {
		d.lease = func(ctx context.Context, _, _ string, _ time.Duration) error { return ctx.Err() }
	}},
}
