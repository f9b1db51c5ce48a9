// Package pdf reads the text of PDFs in a sandbox. It is a package of its own because its
// libraries take long to build.
package pdf

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// PDFs come from strangers, and their readers have faults: endless loops, stacks without
// end, memory for a size that a file only claims. A recover does not catch these. Therefore
// PDFium runs as WebAssembly: a document gets an instance of its own, which has neither
// files nor network, a limit of memory, and ends with its context.
const (
	maxPDFPages  = 100
	maxInstances = 2
	maxMemory    = 256 << 20 / 65536 // pages of WebAssembly for an instance: 256 MiB
)

// sandbox compiles PDFium, once in a process: not before the first PDF.
var sandbox = sync.OnceValues(func() (pdfium.Pool, error) {
	return webassembly.Init(webassembly.Config{
		Context:  experimental.WithCompilationWorkers(context.Background(), runtime.GOMAXPROCS(0)),
		MaxTotal: maxInstances, FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
		RuntimeConfig: wazero.NewRuntimeConfig().WithMemoryLimitPages(maxMemory).WithCloseOnContextDone(true).
			WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling),
	})
})

// Text returns the text of a PDF's first pages, until it has more than most characters
// or a page cannot be read.
func Text(ctx context.Context, file []byte, most int) (text string, err error) {
	pool, err := sandbox()
	if err != nil {
		return "", fmt.Errorf("PDFs cannot be read here: %w", err)
	}
	in, err := pool.GetInstanceWithContext(ctx)
	if err != nil {
		return "", err
	}
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		_ = in.Kill()
	})
	defer func() {
		if v := recover(); v != nil {
			text, err = "", unreadable(fmt.Errorf("panic: %v", v))
		}
		if stop() {
			_ = in.Close()
			return
		}
		<-killed
		text, err = "", context.Cause(ctx)
	}()
	return pagesOf(in, file, most)
}

func pagesOf(in pdfium.Pdfium, file []byte, most int) (string, error) {
	doc, err := in.OpenDocument(&requests.OpenDocument{File: &file})
	if err != nil {
		return "", unreadable(err)
	}
	count, err := in.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		return "", unreadable(err)
	}
	var text string
	for i := 0; i < min(count.PageCount, maxPDFPages) && utf8.RuneCountInString(text) <= most; i++ {
		page := requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: i}}
		got, err := in.GetPageText(&requests.GetPageText{Page: page})
		switch {
		case err == nil:
			text += got.Text + "\n\n"
		case strings.TrimSpace(text) == "":
			return "", unreadable(err)
		default:
			return text, nil
		}
	}
	return text, nil
}

// unreadable is the first line of err: the others are a stack.
func unreadable(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("its PDF cannot be read: %s", line)
}
