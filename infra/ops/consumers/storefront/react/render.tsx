import { renderToString } from "react-dom/server";
import { App } from "./app";

// The shop's server fills in {{.API}} and {{.Sale}}.
export const render = (view?: string) => renderToString(<App api="{{.API}}" sale="{{.Sale}}" view={view} />);
