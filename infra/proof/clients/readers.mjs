// readers.mjs CHECK ARGUMENT prints as JSON what other people's readers make of our documents.
import { createSign, generateKeyPairSync } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

const checks = {
  // Which of the secrets verify a webhook, by each library.
  async webhook(argument) {
    const { body, headers, secrets } = JSON.parse(argument), verified = {};
    for (const library of ["standardwebhooks", "svix"]) {
      const { Webhook } = await import(library);
      verified[library] = secrets.map((secret) => {
        try {
          new Webhook(secret).verify(body, headers);
          return true;
        } catch {
          return false;
        }
      });
    }
    return verified;
  },
  // What the AsyncAPI parser complains about, and each message's type in its schema.
  async messages(path) {
    const { Parser, fromFile } = await import("@asyncapi/parser");
    const { document, diagnostics } = await fromFile(new Parser(), path).parse();
    const types = document?.allMessages().all().filter((m) => m.id() !== "Webhook").map((m) => [m.id(), m.payload().json().schema.properties["detail-type"].const]);
    return { problems: diagnostics.filter((d) => d.severity < 2).map((d) => d.message), types: Object.fromEntries(types ?? []) };
  },
  // The same of the parser of references that most tools have, the newest and one before it fetched what an absolute $id names.
  async references(path) {
    const problems = [], types = {};
    for (const version of ["ref-parser-15", "ref-parser-16"]) {
      const { bundle, dereference } = await import(version);
      try {
        const whole = JSON.stringify(await bundle(path, { resolve: { http: false } }));
        problems.push(...(whole.match(/"\$ref":"[^#].*?"/g) ?? []).map((left) => `${version} leaves ${left}`));
        const { components: { messages } } = await dereference(path, { resolve: { http: false } });
        for (const [name, { payload: { schema } }] of Object.entries(messages)) types[name] = schema.properties["detail-type"].const;
      } catch (error) {
        problems.push(`${version}: ${error.message}`);
      }
    }
    return { problems, types };
  },
  // The same of a strict validator and of a generator of types.
  async schemas(folder) {
    const { default: Ajv } = await import("ajv/dist/2020.js");
    const { compileFromFile } = await import("json-schema-to-typescript");
    const problems = [], types = {};
    const names = await readdir(folder);
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
    for (const name of names) {
      const ajv = new Ajv.default({ strict: true, validateFormats: false });
      names.forEach((other, i) => ajv.addSchema(JSON.parse(texts[i]), other));
      try {
        ajv.getSchema(name);
        const type = await compileFromFile(join(folder, name), { cwd: folder, format: false });
        const found = type.match(/"detail-type"\?: "(\w+)"/);
        if (found) types[name.replace(".json", "")] = found[1];
      } catch (error) {
        problems.push(`${name}: ${error.message}`);
      }
    }
    return { problems, types };
  },
  // A round of a chain, as drand's own client verifies it.
  async round(text) {
    const { url, hash, key, round } = JSON.parse(text);
    const { HttpCachingChain, HttpChainClient, fetchBeacon } = await import("drand-client");
    const options = { disableBeaconVerification: false, noCache: false, chainVerificationParams: { chainHash: hash, publicKey: key } };
    const client = new HttpChainClient(new HttpCachingChain(url, options), options);
    const info = await client.chain().info();
    return { genesis: info.genesis_time, period: info.period, ...(await fetchBeacon(client, round)) };
  },
  // Notifications that Alipay's library signs as an app's request, and others that node signs; each with whether that
  // library takes it for one of these two keys.
  async alipay(argument) {
    const { order } = JSON.parse(argument);
    const { AlipaySdk } = await import("alipay-sdk");
    const [old, now, stranger] = [1, 2, 3].map(() => generateKeyPairSync("rsa", { modulusLength: 2048 }));
    const text = (key, type) => key.export({ type, format: "der" }).toString("base64");
    const library = ({ publicKey, privateKey }) => new AlipaySdk({
      appId: "2021000000000001", keyType: "PKCS8", privateKey: text(privateKey, "pkcs8"), alipayPublicKey: text(publicKey, "spki"),
    });
    const fields = {
      charset: "utf-8", notify_type: "trade_status_sync", seller_id: "2088000000000001", trade_no: "2026010122001400000000000001",
      trade_status: "TRADE_SUCCESS", total_amount: "1499.00", subject: "茅台 53% + 1\n'\"&=|~*", body: "", fund_bill_list: '[{"amount":"1499.00"}]',
      passback_params: `flashsale-moutai-${order}`,
    };
    const signed = ({ privateKey }, more, signedToo = []) => {
      const all = { app_id: "2021000000000001", sign_type: "RSA2", ...fields, ...more };
      const names = Object.keys(all).sort().filter((name) => name !== "sign_type" || signedToo.includes(name));
      const sign = createSign("RSA-SHA256").update(names.map((name) => `${name}=${all[name]}`).join("&")).sign(privateKey, "base64");
      return new URLSearchParams({ ...all, sign }).toString();
    };
    const usual = signed(now), theirs = library(now).sdkExecute("alipay.trade.page.pay", fields);
    const bodies = [
      theirs, library(old).sdkExecute("alipay.trade.page.pay", fields), usual, signed(old), signed(now, {}, ["sign_type"]), signed(now, { unheard: "of" }), // valid, as the next three
      signed(now, { buyer_logon_id: "@shop" }), usual.split("&").reverse().join("&"), usual.replaceAll("+", "%20").replace(/%../g, (escaped) => escaped.toLowerCase()),
      library(stranger).sdkExecute("alipay.trade.page.pay", fields), signed(stranger), usual.replace("1499.00", "1.00"), theirs.replace("1499.00", "1.00"),
      usual + "&unheard=of", usual + "&empty=", usual.replace("&body=", ""), usual.replace("%22amount", "+%22amount"), usual.replace(/sign=[^&]*/, "sign="),
      usual.replaceAll("%2B", "+"), usual.replace(/sign=.{8}/, "sign=AAAAAAAA"),
    ];
    const valid = (body) => [old, now].some((key) => library(key).checkNotifySignV2(Object.fromEntries(new URLSearchParams(body))));
    return {
      back: { body: library(now).sdkExecute("alipay.trade.page.pay", { ...fields, trade_status: "TRADE_CLOSED", refund_fee: "1499.00", gmt_refund: "2026-01-02 10:00:00.000" }) },
      settings: { publicKeys: [old, now].map((key) => text(key.publicKey, "spki")), appIds: ["2021000000000001"], sellerIds: ["2088000000000001"] },
      webhooks: bodies.map((body) => ({ body, valid: valid(body) })),
    };
  },
  // Notifications that a library of WeChat Pay encrypts and signs at that second, and whether it takes them: the headers and the body by
  // these public keys, and the resource by one of these APIv3 keys.
  async "wechat-pay"(argument) {
    const { order, second } = JSON.parse(argument);
    Date.now = () => second * 1000;
    const { default: { Aes: { AesGcm }, Rsa, Formatter, Decorator } } = await import("wechatpay-axios-plugin");
    const [old, now, stranger] = [1, 2, 3].map(() => generateKeyPairSync("rsa", { modulusLength: 2048 }));
    const [id, serial] = ["PUB_KEY_ID_0116500000002024101100397200000006", "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"];
    const certs = { [id]: now.publicKey, [serial]: old.publicKey }, apiV3 = ["0".repeat(32), "1".repeat(32)];
    const payment = {
      mchid: "1900000109", appid: "wxd678efh567hg6787", out_trade_no: order, transaction_id: "4200000001202601010000000001", trade_type: "JSAPI", trade_state: "SUCCESS",
      trade_state_desc: "支付成功", bank_type: "OTHERS", attach: `flashsale-moutai-${order}`, success_time: "2026-01-01T08:00:06+08:00", payer: { openid: "oUpF8uMuAJO_M2pxb1Q9zNjWeS6o" },
      amount: { total: 149900, payer_total: 149900, currency: "CNY", payer_currency: "CNY" },
    };
    const refund = {
      mchid: payment.mchid, out_trade_no: order, transaction_id: payment.transaction_id, out_refund_no: "7752501201407033233368018", refund_id: "50200207182018070300011301001",
      refund_status: "SUCCESS", success_time: "2026-01-02T08:00:06+08:00", user_received_account: "支付用户零钱", amount: { total: 149900, refund: 149900, payer_total: 149900, payer_refund: 149900 },
    };
    const body = (key = apiV3[1], aad = "transaction", change = (text) => text, nonce = "zK5CZkzVWhhW", [event, resource] = ["TRANSACTION", payment]) => change(JSON.stringify({
      id: "6ac3ab14-51ff-5f66-9e3a-d8f2d0f1c9b2", create_time: "2026-01-01T08:00:06+08:00", resource_type: "encrypt-resource", event_type: `${event}.SUCCESS`, summary: "支付成功",
      resource: { original_type: event.toLowerCase(), algorithm: "AEAD_AES_256_GCM", ciphertext: AesGcm.encrypt(JSON.stringify(resource), key, nonce, aad), associated_data: aad, nonce },
    }));
    const signed = (text, { by = now, named = id, age = 0, ...change } = {}) => {
      const nonce = Formatter.nonce(), timestamp = `${second - age}`;
      const signature = Rsa.sign(Formatter.response(timestamp, nonce, text), by.privateKey);
      return { body: text, headers: { "wechatpay-timestamp": timestamp, "wechatpay-nonce": nonce, "wechatpay-signature": signature, "wechatpay-serial": named, ...change } };
    };
    const usual = signed(body()), pretty = JSON.stringify(JSON.parse(body()), null, 2), ends = { by: old, named: serial };
    const header = (name, value) => ({ ...usual, headers: { ...usual.headers, [name]: value } });
    const all = [
      usual, signed(body(apiV3[0])), signed(body(), ends), signed(body(apiV3[0], ""), ends), signed(body(apiV3[1], "")), signed(pretty), // valid, as the next four
      signed(body(), { age: 300 }), signed(body(), { age: -300 }), signed(body().replaceAll("/", "\\/")), signed(body() + "\n"),
      signed(body(), { by: stranger }), signed(body(), { by: old }), signed(body(), { named: serial }), signed(body(), { named: serial.replace("5", "6") }),
      signed(body(), { age: 301 }), signed(body(), { age: -301 }), { ...usual, body: pretty }, { ...usual, body: usual.body + "\n" },
      header("wechatpay-nonce", Formatter.nonce()), header("wechatpay-timestamp", `${second + 1}`), header("wechatpay-serial", serial),
      header("wechatpay-signature", "WECHATPAY/SIGNTEST/" + usual.headers["wechatpay-signature"].slice(19)),
      signed(body("2".repeat(32))), signed(body(apiV3[1], "transaction", (text) => text.replace('"transaction","nonce', '"refund","nonce'))),
      signed(body(apiV3[1], "transaction", (text) => text.replace("zK5C", "zK5D"))), signed(body(apiV3[1], "transaction", (text) => text.replace('ciphertext":"', 'ciphertext":"AAAA'))),
    ];
    const read = ({ ciphertext, nonce, associated_data }) => apiV3.map((key) => {
      try {
        return JSON.parse(AesGcm.decrypt(ciphertext, key, nonce, associated_data));
      } catch {
        return undefined; // another key's
      }
    }).find((one) => one);
    return {
      back: signed(body(apiV3[1], "refund", undefined, undefined, ["REFUND", refund])),
      settings: {
        mchid: payment.mchid, appids: [payment.appid], apiV3Keys: apiV3,
        publicKeys: Object.fromEntries(Object.entries(certs).map(([name, key]) => [name, key.export({ type: "spki", format: "der" }).toString("base64")])),
      },
      webhooks: all.map((one) => {
        const signs = Decorator.responseVerifier(certs).call({}, one.body, one.headers) === one.body; // else it is an error that is returned
        return { ...one, valid: signs && read(JSON.parse(one.body).resource)?.amount.total === 149900 };
      }),
    };
  },
  // Webhooks whose items Adyen's library signs, some of them changed afterwards, and what it says of them: whether one of these
  // keys has signed each item, and what it reads of the last.
  async adyen(argument) {
    const { order } = JSON.parse(argument);
    const { hmacValidator } = await import("@adyen/api-library");
    const { default: { default: NotificationRequest } } = await import("@adyen/api-library/lib/src/notification/notificationRequest.js");
    const library = new hmacValidator();
    const old = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056", now = "11223344d785fbae710e7f943f307971bb61b21281c98c9129b3d4018a57b2eb";
    const item = (more, key = now, change = {}) => {
      const all = {
        additionalData: { authCode: "1234", " NAME1 ": "VALUE1" }, amount: { currency: "CNY", value: 149900 }, eventCode: "AUTHORISATION", eventDate: "2026-01-01T00:01:00+01:00",
        merchantAccountCode: "ShopECOM", merchantReference: `flashsale-moutai-${order}`, operations: ["CANCEL", "CAPTURE", "REFUND"], paymentMethod: "visa",
        pspReference: "QFQTPCQ8HXSKGK82", reason: "1234:7777:03/2030", success: "true", ...more,
      };
      all.additionalData.hmacSignature = library.calculateHmac(all, key);
      return { ...all, ...change };
    };
    const body = (...items) => JSON.stringify({ live: "false", notificationItems: items.map((NotificationRequestItem) => ({ NotificationRequestItem })) });
    const signature = (hmacSignature) => ({ additionalData: { hmacSignature } }), right = item().additionalData.hmacSignature;
    const yuan = (value) => ({ amount: { currency: "CNY", value } });
    const bodies = [
      body(item()), body(item({}, old)), body(item({}, now.toUpperCase())), body(item({ originalReference: "" })), body(item({ originalReference: null })), // valid, as the next nine
      body(item({ reason: null, unheard: { of: 1 } })), JSON.stringify(JSON.parse(body(item())), null, 2), body(item()).replace("149900", "1.499e5"),
      body(item({ success: "false" }), item()), body(item({ merchantReference: "a:b\\c\"é茅", pspReference: "NC6HT9CRT65ZGN82" }), item()),
      body(item({ eventCode: "CAPTURE", originalReference: "QFQTPCQ8HXSKGK82", pspReference: "NC6HT9CRT65ZGN82" })), body(item({ ...yuan(0), eventCode: "CHARGEBACK" }), item()),
      body(item({ merchantReference: null, eventCode: "REPORT_AVAILABLE" }), item()), body(item({ eventCode: "CAPTURE_FAILED" }), item()),
      body(item({}, "00".repeat(32))), body(item({}, now, yuan(1))), body(item({}, now, { amount: { currency: "HKD", value: 149900 } })),
      body(item({}, now, { merchantAccountCode: "ShopPOS" })), body(item({}, now, { eventCode: "CAPTURE" })), body(item({ success: "false" }, now, { success: "true" })),
      body(item({}, now, { merchantReference: "flashsale-moutai-5" })), body(item({}, now, { pspReference: "NC6HT9CRT65ZGN82" })),
      body(item({}, now, { originalReference: "NC6HT9CRT65ZGN82" })), body(item({}, now, signature(""))), body(item({}, now, signature(right.slice(0, -8)))),
      body(item({}, now, { additionalData: null })), body(item(), item({}, "00".repeat(32))),
      body(item({ success: true })), body(item(yuan("149900"))), body(item({}, now, signature(right.replace("=", "")))), // valid to the library, and in no form that Adyen sends
    ];
    const signs = (one) => [old, now].some((key) => {
      try {
        return library.validateHMAC(one, key);
      } catch {
        return false; // an item without a signature
      }
    });
    return {
      back: { body: body(item({ eventCode: "REFUND", originalReference: "QFQTPCQ8HXSKGK82", pspReference: "NC6HT9CRT65ZGN82", merchantReference: "refund-1" })) },
      settings: { hmacKeys: [old, now], merchantAccounts: ["ShopECOM"], live: false, paidBy: "AUTHORISATION" },
      webhooks: bodies.map((body) => {
        const { live, notificationItems } = new NotificationRequest(JSON.parse(body)), { merchantReference, amount } = notificationItems.at(-1);
        const read = [live, merchantReference, amount.value, amount.currency];
        const isRead = isDeepStrictEqual(read, ["false", `flashsale-moutai-${order}`, 149900, "CNY"]);
        return { body, valid: notificationItems.every(signs), misread: isRead ? undefined : read };
      }),
    };
  },
  // What the providers' libraries are answered when they ask for refunds at that second: the refund's id, or an error's code. The answers
  // of WeChat Pay and Alipay are verified.
  async refunds(argument) {
    const { root, second, keys, asked } = JSON.parse(argument), { port } = new URL(root);
    process.env.TZ = "Asia/Shanghai"; // Alipay's library gives the time of the machine
    const Real = Date;
    globalThis.Date = class extends Real {
      constructor(...given) { super(...(given.length ? given : [second * 1000])); }
      static now() { return second * 1000; }
    };
    const [{ default: { Wechatpay, Formatter } }, { AlipaySdk }, { default: { Client, CheckoutAPI } }, { default: Stripe }] =
      await Promise.all(["wechatpay-axios-plugin", "alipay-sdk", "@adyen/api-library", "stripe"].map((name) => import(name)));
    Object.assign(https, { request: http.request, Agent: http.Agent }); // Adyen's library has TLS only
    const lines = (key, type) => `-----BEGIN ${type} KEY-----\n${key}\n-----END ${type} KEY-----`;

    const stripe = new Stripe(keys.stripe.secretKey, { host: "127.0.0.1", port, protocol: "http", maxNetworkRetries: 0, telemetry: false });
    const own = keys["wechat-pay"], [[signedBy, publicKey]] = Object.entries(own.publicKeys);
    const wechatPay = new Wechatpay({
      baseURL: root, mchid: own.mchid, serial: own.serial, privateKey: lines(own.privateKey, "PRIVATE"), certs: { [signedBy]: lines(publicKey, "PUBLIC") },
      headers: { Accept: "application/json", "Wechatpay-Serial": signedBy },
    });
    const alipay = new AlipaySdk({ ...keys.alipay, keyType: "PKCS8", alipayPublicKey: keys.alipay.publicKeys[0], gateway: `${root}/alipay/gateway.do` });
    const adyen = new CheckoutAPI(new Client({ apiKey: keys.adyen.apiKey, environment: "TEST" })).ModificationsApi;
    adyen.baseUrl = `${root}/adyen/v71`; // it asks version 72

    const ask = {
      async stripe({ id, reference }) {
        const refund = await stripe.refunds.create({ payment_intent: reference, amount: 149900, metadata: { flashsale: id } }, { idempotencyKey: id });
        return refund.id;
      },
      async "wechat-pay"({ id, reference, nonce }) {
        Formatter.nonce = () => nonce;
        const { data } = await wechatPay.v3.refund.domestic.refunds.post({
          transaction_id: reference, out_refund_no: id, notify_url: "https://shop.example/payments/wechat-pay", amount: { refund: 149900, total: 149900, currency: "CNY" },
        });
        return data.refund_id;
      },
      async alipay({ id, reference }) {
        const bizContent = { out_request_no: id, refund_amount: "1499.00", trade_no: reference };
        const said = await alipay.exec("alipay.trade.refund", { format: "JSON", bizContent }, { validateSign: true });
        if (said.code !== "10000" || said.refundFee !== "1499.00") throw said;
        return ""; // Alipay's refunds have no id
      },
      async adyen({ id, reference }) {
        const { pspReference } = await adyen.refundOrCancelPayment(reference, { merchantAccount: keys.adyen.merchantAccount, reference: id }, { idempotencyKey: id });
        return pspReference;
      },
    };
    const told = {};
    for (const [provider, all] of Object.entries(asked)) {
      told[provider] = [];
      for (const { ID: id, Reference: reference, Nonce: nonce } of all) {
        const one = { id, reference, nonce, refund: "", code: "" };
        try {
          one.refund = await ask[provider](one);
        } catch (error) {
          one.code = error.response?.data?.code ?? error.subCode ?? error.errorCode ?? error.code ?? error.message;
        }
        told[provider].push(one);
      }
    }
    return told;
  },
};

console.log(JSON.stringify(await checks[process.argv[2]](process.argv[3])));
