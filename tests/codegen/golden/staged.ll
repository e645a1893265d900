define void @kernel(ptr %words, i64 %chunk, i64 %tid) nounwind "prefer-vector-width"="512" {
entry:
  %args = alloca [2 x ptr], align 8
  %steps = alloca [2 x i64], align 8
  %count = alloca i64, align 8
  %0 = mul i64 %tid, 8192
  %1 = getelementptr i64, ptr %words, i64 1
  %2 = load ptr, ptr %1, align 8
  %3 = getelementptr i8, ptr %2, i64 %0
  %4 = getelementptr i64, ptr %words, i64 26
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr i64, ptr %words, i64 27
  %7 = load ptr, ptr %6, align 8
  %saved = alloca i32, align 4
  %status = alloca i32, align 4
  %raised = alloca i32, align 4
  store i32 0, ptr %raised, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %saved)
  %8 = load i32, ptr %saved, align 4
  %9 = and i32 %8, -64
  store i32 %9, ptr %status, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %status)
  %calls = alloca i64, align 8
  store i64 0, ptr %calls, align 8
  %10 = getelementptr i64, ptr %words, i64 8
  %11 = load i64, ptr %10, align 8
  %12 = urem i64 %chunk, %11
  %13 = udiv i64 %chunk, %11
  %14 = getelementptr i64, ptr %words, i64 6
  %15 = load i64, ptr %14, align 8
  %16 = mul i64 %12, %15
  %17 = getelementptr i64, ptr %words, i64 4
  %18 = load i64, ptr %17, align 8
  %19 = sub i64 %18, %16
  %20 = icmp ult i64 %19, %15
  %21 = select i1 %20, i64 %19, i64 %15
  %22 = getelementptr i64, ptr %words, i64 5
  %23 = load i64, ptr %22, align 8
  %24 = mul i64 %13, %23
  %25 = getelementptr i64, ptr %words, i64 3
  %26 = load i64, ptr %25, align 8
  %27 = sub i64 %26, %24
  %28 = icmp ult i64 %27, %23
  %29 = select i1 %28, i64 %27, i64 %23
  %30 = getelementptr i64, ptr %words, i64 9
  %31 = load ptr, ptr %30, align 8
  %32 = getelementptr i64, ptr %words, i64 10
  %33 = load i64, ptr %32, align 8
  %34 = mul i64 %24, %33
  %35 = getelementptr i8, ptr %31, i64 %34
  %36 = getelementptr i64, ptr %words, i64 11
  %37 = load i64, ptr %36, align 8
  %38 = mul i64 %16, %37
  %39 = getelementptr i8, ptr %35, i64 %38
  %40 = getelementptr i64, ptr %words, i64 12
  %41 = load ptr, ptr %40, align 8
  %42 = getelementptr i64, ptr %words, i64 13
  %43 = load i64, ptr %42, align 8
  %44 = mul i64 %24, %43
  %45 = getelementptr i8, ptr %41, i64 %44
  %46 = getelementptr i64, ptr %words, i64 15
  %47 = load ptr, ptr %46, align 8
  %48 = getelementptr i64, ptr %words, i64 16
  %49 = load i64, ptr %48, align 8
  %50 = mul i64 %24, %49
  %51 = getelementptr i8, ptr %47, i64 %50
  %52 = mul i64 %16, 8
  %53 = getelementptr i8, ptr %51, i64 %52
  br label %start
start:
  br label %row1
row1:
  %i.row1 = phi i64 [ 0, %start ], [ %i.next2, %next2 ]
  %p0.row1 = phi ptr [ %39, %start ], [ %p0.next2, %next2 ]
  %p1.row1 = phi ptr [ %45, %start ], [ %p1.next2, %next2 ]
  %p2.row1 = phi ptr [ %53, %start ], [ %p2.next2, %next2 ]
  %54 = load double, ptr %p1.row1, align 8
  %55 = getelementptr i64, ptr %words, i64 18
  %56 = load double, ptr %55, align 8
  %57 = getelementptr i64, ptr %words, i64 18
  br label %block3
block3:
  %i.block3 = phi i64 [ 0, %row1 ], [ %i.next4, %next4 ]
  %58 = sub i64 %21, %i.block3
  %59 = icmp ult i64 %58, 1024
  %60 = select i1 %59, i64 %58, i64 1024
  %61 = mul i64 %i.block3, %37
  %62 = getelementptr i8, ptr %p0.row1, i64 %61
  %63 = mul i64 %i.block3, 8
  %64 = getelementptr i8, ptr %p2.row1, i64 %63
  %65 = and i64 %60, -4
  %66 = icmp ult i64 0, %65
  br i1 %66, label %pre7, label %done8
pre7:
  %67 = load <4 x double>, ptr %57, align 8
  %68 = insertelement <4 x double> poison, double %54, i64 0
  %69 = shufflevector <4 x double> %68, <4 x double> poison, <4 x i32> zeroinitializer
  br label %loop6
loop6:
  %i.loop6 = phi i64 [ 0, %pre7 ], [ %n.loop6, %loop6 ]
  %70 = mul i64 %i.loop6, %37
  %71 = getelementptr i8, ptr %62, i64 %70
  %72 = load i64, ptr %71, align 8
  %73 = insertelement <2 x i64> poison, i64 %72, i64 0
  %74 = getelementptr i8, ptr %71, i64 %37
  %75 = load i64, ptr %74, align 8
  %76 = insertelement <2 x i64> %73, i64 %75, i64 1
  %77 = getelementptr i8, ptr %74, i64 %37
  %78 = load i64, ptr %77, align 8
  %79 = insertelement <2 x i64> poison, i64 %78, i64 0
  %80 = getelementptr i8, ptr %77, i64 %37
  %81 = load i64, ptr %80, align 8
  %82 = insertelement <2 x i64> %79, i64 %81, i64 1
  %83 = shufflevector <2 x i64> %76, <2 x i64> %82, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %84 = bitcast <4 x i64> %83 to <4 x double>
  %85 = fmul <4 x double> %67, %84
  %86 = fadd <4 x double> %85, %69
  %87 = getelementptr double, ptr %3, i64 %i.loop6
  store <4 x double> %86, ptr %87, align 8
  %n.loop6 = add i64 %i.loop6, 4
  %88 = icmp ult i64 %n.loop6, %65
  br i1 %88, label %loop6, label %done8
done8:
  %89 = icmp ult i64 %65, %60
  br i1 %89, label %pre10, label %done11
pre10:
  br label %loop9
loop9:
  %i.loop9 = phi i64 [ %65, %pre10 ], [ %n.loop9, %loop9 ]
  %90 = mul i64 %i.loop9, %37
  %91 = getelementptr i8, ptr %62, i64 %90
  %92 = load double, ptr %91, align 8
  %93 = fmul double %56, %92
  %94 = fadd double %93, %54
  %95 = getelementptr double, ptr %3, i64 %i.loop9
  store double %94, ptr %95, align 8
  %n.loop9 = add i64 %i.loop9, 1
  %96 = icmp ult i64 %n.loop9, %60
  br i1 %96, label %loop9, label %done11
done11:
  call void @llvm.x86.sse.stmxcsr(ptr %status)
  %97 = load i32, ptr %status, align 4
  %98 = load i32, ptr %raised, align 4
  %99 = or i32 %97, %98
  store i32 %99, ptr %raised, align 4
  %100 = load i64, ptr %calls, align 8
  %101 = add i64 %100, 1
  store i64 %101, ptr %calls, align 8
  %102 = getelementptr ptr, ptr %args, i64 0
  store ptr %3, ptr %102, align 8
  %103 = getelementptr i64, ptr %steps, i64 0
  store i64 8, ptr %103, align 8
  %104 = getelementptr ptr, ptr %args, i64 1
  store ptr %64, ptr %104, align 8
  %105 = getelementptr i64, ptr %steps, i64 1
  store i64 8, ptr %105, align 8
  store i64 %60, ptr %count, align 8
  call void %5(ptr %args, ptr %count, ptr %steps, ptr %7)
  br label %next4
next4:
  %i.next4 = add i64 %i.block3, 1024
  %106 = icmp ult i64 %i.next4, %21
  br i1 %106, label %block3, label %done5
done5:
  br label %next2
next2:
  %i.next2 = add i64 %i.row1, 1
  %p0.next2 = getelementptr i8, ptr %p0.row1, i64 %33
  %p1.next2 = getelementptr i8, ptr %p1.row1, i64 %43
  %p2.next2 = getelementptr i8, ptr %p2.row1, i64 %49
  %107 = icmp ult i64 %i.next2, %29
  br i1 %107, label %row1, label %done12
done12:
  br label %exit
exit:
  %108 = getelementptr i64, ptr %words, i64 2
  %109 = load i64, ptr %calls, align 8
  %110 = atomicrmw add ptr %108, i64 %109 monotonic
  call void @llvm.x86.sse.stmxcsr(ptr %status)
  %111 = load i32, ptr %status, align 4
  %112 = load i32, ptr %raised, align 4
  %113 = or i32 %111, %112
  store i32 %113, ptr %raised, align 4
  %114 = load i32, ptr %raised, align 4
  %115 = lshr i32 %114, 2
  %116 = and i32 %115, 7
  %117 = shl i32 %114, 3
  %118 = and i32 %117, 8
  %119 = or i32 %116, %118
  %120 = and i32 %119, 14
  %121 = icmp eq i32 %120, 0
  br i1 %121, label %quiet, label %report
report:
  %122 = zext i32 %120 to i64
  %123 = getelementptr i64, ptr %words, i64 0
  %124 = atomicrmw or ptr %123, i64 %122 monotonic
  br label %quiet
quiet:
  call void @llvm.x86.sse.ldmxcsr(ptr %saved)
  ret void
}
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)
!0 = !{i32 1}
