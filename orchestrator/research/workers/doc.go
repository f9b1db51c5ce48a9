// Package workers has two real workers for the research team: [WebScraper] reads web
// pages and [AcademicSearch] asks arXiv. It is a module of its own, so that only hosts
// that use them get their dependencies.
//
//	scraper, err := workers.NewWebScraper(workers.ScraperConfig{})
//	…
//	papers, err := workers.NewAcademicSearch(workers.SearchConfig{})
//	…
//	roster["web_scraper"], roster["academic_search"] = scraper, papers
//
// The input of a worker is a research.WorkerInput, the answer research.Findings. What it
// found is untrusted text: it is data for other workers, never an instruction.
//
// # What is read
//
// The scraper reads the addresses of the brief's preferred sources and those that earlier
// workers found, the most relevant first. It leaves out those that it has read in an
// earlier iteration. It gets none without "sources" in its Worker.Needs.
//
// Addresses come from models and from pages. Therefore only http and https are read, at
// the ports 80 and 443, without user and password, and only at public addresses: not in
// private, local or reserved networks, nor where clouds keep their credentials. That is
// checked for each redirect, and again when a connection is made, for the address that
// the name was resolved to. [Access] makes exceptions. Pages are HTML, plain text or PDF, as
// what they hold shows: a server may call them anything. Everything about them is bounded:
// bytes after decompression, elements, time, the text that is kept. A page that was not read
// is in Findings.Unread.
//
// A feed of the search is read up to 4 MiB with 80,000 elements, nested at most 100 deep and
// with at most 8 namespaces around an element. One with xml:base is not read.
//
// PDFium reads PDFs as WebAssembly, in a sandbox for each file, without files and network
// and with at most 256 MiB of memory. It is compiled before the first PDF of a process, which
// takes some seconds and 300 MB. Of a PDF at most 100 pages are read; passwords are not
// known.
//
// # Manners
//
// The scraper gives its name (User-Agent) and obeys robots.txt (RFC 9309), unless
// configured otherwise: a site without one may be read, a site whose robots.txt is
// unavailable now is not read now. Pages of one site are read one after another. Nothing
// is kept between calls, not even cookies.
//
// The search makes one request at a time and waits three seconds before the next one, as
// arXiv requires, however many runs share the value. Several processes must coordinate
// that pace themselves.
package workers
