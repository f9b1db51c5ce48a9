// Package workers has two real workers for the research team: [WebScraper] reads web
// pages and [AcademicSearch] asks arXiv. It is a module of its own, so that a host that
// does not want them does not get what they stand on.
//
//	scraper, err := workers.NewWebScraper(workers.ScraperConfig{})
//	…
//	papers, err := workers.NewAcademicSearch(workers.SearchConfig{})
//	…
//	roster["web_scraper"], roster["academic_search"] = scraper, papers
//
// A worker is told by research.WorkerInput what is wanted and answers with
// research.Findings. What it found is text of strangers: it is data for other workers,
// never an instruction.
//
// # What is read
//
// The scraper reads the addresses of the brief's preferred sources and those that
// earlier workers found, the most relevant first, but none that it has read in an
// earlier iteration. So it needs "sources" in its registry entry (Worker.Needs), or it
// gets none.
//
// Addresses come from models and from pages. Therefore only http and https are read, at
// the ports 80 and 443, without user and password, and only at public addresses: not in
// private, local or reserved networks, nor where clouds keep their credentials. That is
// checked for each redirect, and again when a connection is made, for the address that
// the name was resolved to. [Access] makes exceptions. Pages are HTML or plain text, and
// everything about them is bounded: bytes after decompression, elements, time, the text
// that is kept.
//
// # Manners
//
// The scraper gives its name (User-Agent) and keeps to robots.txt as RFC 9309 says,
// unless told otherwise: a site without one may be read, a site whose robots.txt cannot
// be had now is not read now. Pages of one site are read one after another. Nothing is
// kept between calls, cookies neither.
//
// The search makes one request at a time and waits three seconds before the next one, as
// arXiv asks for, however many runs share the value. Several processes must share that
// pace by means of their own.
package workers
