#!/bin/bash
# A CloudEvent with a Chinese subject, sent over HTTP in binary mode, and one whose data is a problem (application/problem+json, RFC 9457),
# by the specification's own libraries for Node and Go.
#
# One would guess: what HTTP's headers cannot hold is percent-encoded by whoever sends it and decoded by whoever receives it, as the HTTP
# binding demands (3.1.3.2); and data is JSON if its media type ends in +json, as the JSON format has it (3.1).
# It is so:
# - Neither library encodes or decodes. Node's puts the characters into the header and throws when it sends them; Go's sends their UTF-8, which
#   Node's reads as another text. What somebody else has encoded, both hand on as %E9%A3%9E. In structured mode all is well.
# - Go's refuses the whole event in structured mode, and wants a text for its data. Node's has an object there, and in binary mode a text.
#
# Needs Node and Go; what is sent stays on this machine.
set -euo pipefail
work=$(mktemp -d) && trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error cloudevents@10.0.0 >/dev/null
cat >go.mod <<'MOD'
module finding

go 1.24

require github.com/cloudevents/sdk-go/v2 v2.16.2
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	events "github.com/cloudevents/sdk-go/v2"
)

func main() {
	client, err := events.NewClientHTTP(events.WithTarget(os.Args[1]))
	if err != nil {
		panic(err)
	}
	event := events.NewEvent()
	event.SetID("1")
	event.SetSource("shop")
	event.SetType("paid")
	event.SetSubject("飞天")
	client.Send(context.Background(), event)
	request, _ := http.NewRequest("POST", "/", strings.NewReader("{}"))
	for name, value := range map[string]string{"Specversion": "1.0", "Id": "1", "Source": "shop", "Type": "paid", "Subject": "%E9%A3%9E%E5%A4%A9"} {
		request.Header.Set("Ce-"+name, value)
	}
	read, err := events.NewEventFromHTTPRequest(request)
	fmt.Println("go reads", read.Subject(), err)
	var problem events.Event
	err = json.Unmarshal([]byte(`{"specversion":"1.0","id":"1","source":"shop","type":"refused","datacontenttype":"application/problem+json","data":{"status":409}}`), &problem)
	fmt.Printf("go reads a problem: %.82s\n", fmt.Sprint(err))
}
GO
go mod tidy >/dev/null 2>&1
go build -o send .
cat >run.js <<'JS'
import { CloudEvent, HTTP, emitterFor, httpTransport } from "cloudevents";
import { createServer } from "node:http";
import { execFile } from "node:child_process";
const server = createServer((request, response) => {
  const { subject } = HTTP.toEvent({ headers: request.headers, body: "{}" });
  console.log("node received", subject === "飞天" ? subject : `${subject.length} other characters`);
  response.end();
}).listen(0, "127.0.0.1", async () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const event = { id: "1", source: "shop", type: "paid", subject: "飞天", data: {} };
  await emitterFor(httpTransport(url))(new CloudEvent(event)).catch(e => console.log("node sends:", e.code));
  const encoded = { "ce-id": "1", "ce-source": "shop", "ce-type": "paid", "ce-specversion": "1.0", "ce-subject": "%E9%A3%9E%E5%A4%A9" };
  console.log("node reads", HTTP.toEvent({ headers: encoded, body: "{}" }).subject);
  const problem = new CloudEvent({ ...event, subject: "1", datacontenttype: "application/problem+json", data: { status: 409 } });
  for (const mode of ["structured", "binary"]) console.log("node reads a problem,", mode + ":", typeof HTTP.toEvent(HTTP[mode](problem)).data);
  execFile("./send", [url], (error, said) => { process.stdout.write(said); server.close(); });
});
JS
npm ls --depth 0 | grep @
go list -m github.com/cloudevents/sdk-go/v2
node run.js 2>&1 | tee said
diff said - <<'SEEN'
node sends: ERR_INVALID_CHAR
node reads %E9%A3%9E%E5%A4%A9
node reads a problem, structured: object
node reads a problem, binary: string
node received 6 other characters
go reads %E9%A3%9E%E5%A4%A9 <nil>
go reads a problem: unexpected data payload for media type "application/problem+json", expected a stri
SEEN
