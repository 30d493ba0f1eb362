import { words } from "./words.js";
import { endpoint } from "./signin.js";

const line = document.getElementById("status");
if (line) line.textContent = words.loading;
const { authorize } = document.documentElement.dataset;
if (authorize) endpoint(authorize);
