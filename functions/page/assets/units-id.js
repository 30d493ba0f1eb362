// The words of a sale with orders of several units in Indonesian.

/** @type {import("./units-en.js").Words} */
export const words = {
  howMany: "Berapa unit?",
  order: "Pesan {0}",
  orderFor: "Pesan {0} seharga {1}",
  openDetail: "Cukup tekan sekali. Jika toko sibuk, halaman ini terus mencoba untuk Anda. Anda mendapat satu pesanan, paling banyak {0} unit.",
  stuckOrderDetail: "Coba lagi: Anda mendapat paling banyak satu pesanan, berapa kali pun mencoba.",
  notEnough: "Hanya tersisa {0}, kurang dari yang Anda minta.",
  notEnoughDetail: "Belum ada yang dipesan. Anda bisa memesan yang tersisa.",
  reserved: "Anda dapat {0}. Semuanya disimpan untuk Anda.",
  unpaid: "Anda dapat {0}. Bayar agar tetap milik Anda.",
  cancelSure: "Batalkan seluruh pesanan? Semua {0} unit dijual kembali dan Anda tidak bisa memesan lagi.",
  cancelSureGroup: "Batalkan seluruh pesanan? Semua {0} unit dijual kembali dan Anda tidak bisa memesan lagi: baik barang ini maupun pilihan lainnya.",
};
