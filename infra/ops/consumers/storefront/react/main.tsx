import { hydrateRoot } from "react-dom/client";
import { App } from "./app";

const { api = "", sale = "", view } = document.documentElement.dataset;
hydrateRoot(document.getElementById("root") as HTMLElement, <App api={api} sale={sale} view={view} />);
