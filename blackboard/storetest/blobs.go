package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
)

var blobsChecks = []check{
	{"Hash", blobHash},
	{"Twice", blobTwice},
	{"BelongsToRun", blobBelongsToRun},
	{"NoBlob", blobNone},
	{"Order", blobOrder},
	{"Big", blobBig},
	{"CallerOwnsData", blobCallerOwnsData},
	{"NoLockWhileYielding", blobNoLock},
	{"CanceledContext", blobCanceled},
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func mustPutBlob(t testing.TB, b runlog.Blobs, run string, data []byte) string {
	t.Helper()
	hash, err := b.PutBlob(t.Context(), run, data)
	if err != nil {
		t.Fatalf("PutBlob(%q, %d bytes) = %v", run, len(data), err)
	}
	return hash
}

func wantBlob(t testing.TB, b runlog.Blobs, run string, want []byte) {
	t.Helper()
	got, err := b.Blob(t.Context(), run, hashOf(want))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("Blob(%q, hash of %.40q) = %.40q (%d bytes), %v; want %d bytes", run, want, got, len(got), err, len(want))
	}
}

func wantNoBlob(t testing.TB, b runlog.Blobs, run, hash string) {
	t.Helper()
	if got, err := b.Blob(t.Context(), run, hash); !errors.Is(err, runlog.ErrNoBlob) {
		t.Errorf("Blob(%q, %q) = %.40q, %v; want ErrNoBlob", run, hash, got, err)
	}
}

func blobHash(t testing.TB, s runlog.Store) {
	b := as[runlog.Blobs](t, s)
	for _, data := range []string{`{"a":1}`, "\x00\xff binary", "", "with\nlines"} {
		if got := mustPutBlob(t, b, "r", []byte(data)); got != hashOf([]byte(data)) {
			t.Errorf("PutBlob(%q) = %s, want the SHA-256 %s", data, got, hashOf([]byte(data)))
		}
		wantBlob(t, b, "r", []byte(data))
	}
}

func blobTwice(t testing.TB, s runlog.Store) {
	b := as[runlog.Blobs](t, s)
	for range 2 {
		if got := mustPutBlob(t, b, "r", []byte("x")); got != hashOf([]byte("x")) {
			t.Errorf("PutBlob = %s, want the SHA-256 %s", got, hashOf([]byte("x")))
		}
	}
	if got := all(t, b.BlobsOf(t.Context(), "r")); len(got) != 1 {
		t.Errorf("after two equal blobs BlobsOf yielded %q, want one", got)
	}
}

func blobBelongsToRun(t testing.TB, s runlog.Store) {
	b := as[runlog.Blobs](t, s)
	hash := mustPutBlob(t, b, "a", []byte("x"))
	wantNoBlob(t, b, "b", hash)
	if got := all(t, b.BlobsOf(t.Context(), "b")); len(got) != 0 {
		t.Errorf("BlobsOf another run yielded %q", got)
	}
	mustPutBlob(t, b, "b", []byte("x"))
	wantBlob(t, b, "b", []byte("x"))
	wantBlob(t, b, "a", []byte("x"))
	wantRuns(t, s, everyRun)
	if _, err := s.Last(t.Context(), "a"); !errors.Is(err, runlog.ErrNoRun) {
		t.Errorf("Last of a run that has blobs only = %v, want ErrNoRun", err)
	}
	mustAppend(t, s, entry("a", 0))
}

func blobNone(t testing.TB, s runlog.Store) {
	b := as[runlog.Blobs](t, s)
	wantNoBlob(t, b, "r", hashOf([]byte("x")))
	mustPutBlob(t, b, "r", []byte("x"))
	wantNoBlob(t, b, "r", hashOf([]byte("y")))
	wantNoBlob(t, b, "r", "")
	wantNoBlob(t, b, "r", "../x")
}

func blobOrder(t testing.TB, s runlog.Store) {
	b := as[runlog.Blobs](t, s)
	var want []string
	for i := range 100 {
		data := bytes.Repeat([]byte{byte(i)}, i+1)
		want = append(want, mustPutBlob(t, b, "r", data))
	}
	slices.Sort(want)
	var got []string
	for _, data := range all(t, b.BlobsOf(t.Context(), "r")) {
		got = append(got, hashOf(data))
	}
	if !slices.Equal(got, want) {
		t.Errorf("BlobsOf yielded blobs with the hashes %q, want %q", got, want)
	}
}

func blobBig(t testing.TB, s runlog.Store) {
	b := as[runlog.Blobs](t, s)
	big := bytes.Repeat([]byte("0123456789abcde\n"), 1<<18) // 4 MiB
	mustPutBlob(t, b, "r", big)
	mustPutBlob(t, b, "r", []byte("small"))
	wantBlob(t, b, "r", big)
	size := 0
	for _, data := range all(t, b.BlobsOf(t.Context(), "r")) {
		size += len(data)
	}
	if want := len(big) + len("small"); size != want {
		t.Errorf("BlobsOf yielded %d bytes, want %d", size, want)
	}
}

func blobCallerOwnsData(t testing.TB, s runlog.Store) {
	b := as[runlog.Blobs](t, s)
	data := []byte("mine")
	hash := mustPutBlob(t, b, "r", data)
	clear(data)
	got, err := b.Blob(t.Context(), "r", hash)
	if err != nil {
		t.Fatalf("Blob = %v", err)
	}
	clear(got)
	for _, got := range all(t, b.BlobsOf(t.Context(), "r")) {
		clear(got)
	}
	wantBlob(t, b, "r", []byte("mine"))
}

func blobNoLock(t testing.TB, s runlog.Store) {
	b := as[runlog.Blobs](t, s)
	mustPutBlob(t, b, "r", []byte("x"))
	mustPutBlob(t, b, "r", []byte("y"))
	next := int64(0)
	for _, err := range b.BlobsOf(t.Context(), "r") {
		if err != nil {
			t.Fatalf("BlobsOf yielded the error %v", err)
		}
		if !usable(t, s, "BlobsOf", entry("r", next)) {
			break
		}
		next++
	}
}

func blobCanceled(t testing.TB, s runlog.Store) {
	b := as[runlog.Blobs](t, s)
	hash := mustPutBlob(t, b, "r", []byte("x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.PutBlob(ctx, "r", []byte("y")); !errors.Is(err, context.Canceled) {
		t.Errorf("PutBlob with a canceled context = %v, want context.Canceled", err)
	}
	if _, err := b.Blob(ctx, "r", hash); !errors.Is(err, context.Canceled) {
		t.Errorf("Blob with a canceled context = %v, want context.Canceled", err)
	}
	if err := firstError(t, b.BlobsOf(ctx, "r")); !errors.Is(err, context.Canceled) {
		t.Errorf("BlobsOf with a canceled context yielded the error %v, want context.Canceled", err)
	}
	wantNoBlob(t, b, "r", hashOf([]byte("y")))
}
