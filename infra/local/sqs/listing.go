package sqs

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

const maxListed = 1000

// A page is a listing's request: at most MaxResults names after the one in the token.
// Without MaxResults there is one page only and no token.
type page struct {
	MaxResults *int
	NextToken  *string
}

func (s *Server) listQueues(c call) (any, error) {
	in, err := decode[struct {
		page
		QueueNamePrefix string
	}](c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	names := slices.Sorted(maps.Keys(s.named))
	s.mu.Unlock()
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, in.QueueNamePrefix) })
	urls, next, err := s.cut(c, names, in.page)
	return struct {
		QueueUrls []string `json:",omitempty"`
		NextToken string   `json:",omitempty"`
	}{urls, next}, err
}

func (s *Server) listDeadLetterSourceQueues(c call) (any, error) {
	in, err := decode[struct {
		page
		QueueUrl string
	}](c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	q, err := s.find(in.QueueUrl, s.options.Now())
	var names []string
	if err == nil {
		names = s.sourcesOf(q)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	urls, next, err := s.cut(c, names, in.page)
	return struct {
		QueueUrls []string `json:"queueUrls"`
		NextToken string   `json:",omitempty"`
	}{urls, next}, err
}

// cut returns the URLs of one page of sorted names and the token of the next page, ""
// after the last.
func (s *Server) cut(c call, names []string, p page) (urls []string, next string, err error) {
	if p.NextToken != nil && *p.NextToken != "" {
		after, err := base64.StdEncoding.DecodeString(*p.NextToken)
		if err != nil {
			return nil, "", errParameter("Invalid or expired next token.")
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n <= string(after) })
	}
	most := maxListed
	if p.MaxResults != nil {
		most = *p.MaxResults
		if most < 1 || most > maxListed {
			return nil, "", errParameter("Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 and 1000.")
		}
	}
	if len(names) > most {
		names = names[:most]
		if p.MaxResults != nil {
			next = base64.StdEncoding.EncodeToString([]byte(names[most-1]))
		}
	}
	urls = make([]string, 0, len(names))
	for _, name := range names {
		urls = append(urls, s.url(c.baseURL, name))
	}
	return urls, next, nil
}
