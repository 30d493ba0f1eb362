// The element. React hydrates neither properties nor listeners of a custom element, so that an effect sets them.
import { useEffect, useRef, type DetailedHTMLProps, type HTMLAttributes } from "react";
import type { FlashSaleAttributes, FlashSaleElement } from "flashsale-storefront/element";
import "flashsale-storefront/element";
import { signIn, token } from "./session";

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "flash-sale": DetailedHTMLProps<HTMLAttributes<FlashSaleElement>, FlashSaleElement> & FlashSaleAttributes;
    }
  }
}

export function FlashSale(attributes: FlashSaleAttributes) {
  const ref = useRef<FlashSaleElement>(null);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    element.token = token;
    element.addEventListener("signin", signIn);
    return () => element.removeEventListener("signin", signIn);
  }, []);
  return <flash-sale ref={ref} {...attributes} />;
}
