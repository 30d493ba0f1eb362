// The page of a drop in a WeChat mini program: page.wxml shows name and phase, and a button for each of can.
import { flashsale } from "flashsale-storefront";
import { requestBy } from "./request.js";

/** @param {{ wx: any, api: string, token: () => Promise<string | null> }} app */
export const page = ({ wx, api, token }) => ({
  data: { name: "", phase: "loading", can: [] },

  onLoad({ sale }) {
    this.shown = true;
    this.drop = flashsale({ api, sale, token, request: requestBy(wx), seen: () => this.shown, tabs: null });
    this.unsubscribe = this.drop.subscribe(() => {
      const { phase, can, sale } = this.drop.state;
      this.setData({ name: sale?.name ?? "", phase, can });
    });
    this.drop.start();
  },
  onShow() {
    this.shown = true;
    this.drop.refresh();
  },
  onHide() {
    this.shown = false;
  },
  onUnload() {
    this.unsubscribe();
    this.drop.stop();
  },

  /** bindtap of a button with data-act. */
  press({ currentTarget: { dataset: { act } } }) {
    // The page that pays is the shop's own, with wx.requestPayment.
    if (act === "pay") wx.navigateTo({ url: "/pages/pay?" + this.drop.state.pay.query });
    else this.drop[act]?.();
  },
});
