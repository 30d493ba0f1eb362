// wx.request in place of fetch, which a mini program has not.
export const requestBy = (wx) => (url, { method, headers, body }) =>
  new Promise((resolve, reject) => {
    wx.request({
      url, method, header: headers, data: body, dataType: "text", // else it would parse JSON, and lose what is not
      success: ({ statusCode, header, data }) => {
        const lower = Object.fromEntries(Object.entries(header).map(([name, value]) => [name.toLowerCase(), value]));
        resolve({ status: statusCode, headers: { get: (name) => lower[name.toLowerCase()] }, text: async () => data });
      },
      fail: reject,
    });
  });
