import ctypes,time
n=ctypes.CDLL("libnvidia-ml.so.1"); n.nvmlInit_v2()
d=ctypes.c_void_p(); n.nvmlDeviceGetHandleByIndex_v2(0,ctypes.byref(d))
u=ctypes.c_uint(); q=ctypes.c_ulonglong()
def t(name,f):
    xs=[]
    for i in range(30):
        a=time.perf_counter(); f(); xs.append(time.perf_counter()-a)
    xs.sort(); print(f"{name}: median {xs[15]*1e6:.1f} us, max {xs[-1]*1e6:.1f} us, value {u.value}")
t("power",lambda:n.nvmlDeviceGetPowerUsage(d,ctypes.byref(u)))
t("sm clock",lambda:n.nvmlDeviceGetClockInfo(d,1,ctypes.byref(u)))
t("mem clock",lambda:n.nvmlDeviceGetClockInfo(d,2,ctypes.byref(u)))
t("temperature",lambda:n.nvmlDeviceGetTemperature(d,0,ctypes.byref(u)))
t("reasons",lambda:n.nvmlDeviceGetCurrentClocksEventReasons(d,ctypes.byref(q)))
