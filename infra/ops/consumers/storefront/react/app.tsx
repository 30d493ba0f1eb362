import { StrictMode } from "react";
import { OwnFace } from "./drop";
import { FlashSale } from "./element";

export function App({ view, ...props }: { view?: string; api: string; sale: string }) {
  return <StrictMode>{view === "element" ? <FlashSale {...props} /> : <OwnFace {...props} />}</StrictMode>;
}
